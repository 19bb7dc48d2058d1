"""The corpus in pictures: `voyager notebook` opens it, `voyager notebook --edit` with its code."""

import marimo

app = marimo.App(width="medium", app_title="Voyager: the corpus")


@app.cell
def _():
    import altair as alt
    import marimo as mo

    from voyager_core.analysis.session import open_session
    from voyager_core.settings import load_settings

    settings = load_settings()
    context = open_session(settings.parquet_path)
    session = context.__enter__()
    mo.md("# The corpus\n\nOverview lines of captured ranges, and what became of them.")
    return alt, mo, session


@app.cell
def _(mo, session):
    totals = session.frame(
        'select "group", count(distinct "range") as ranges, count(*) as lines,'
        " count(file_key) as kept, round(100 * count(file_key) / count(*), 1) as percent_kept,"
        " min(posted_at) as first, max(posted_at) as last"
        " from parsed_headers group by all order by lines desc"
    )
    mo.ui.table(totals, selection=None)


@app.cell
def _(alt, mo, session):
    months = session.frame(
        "select date_trunc('month', posted_at) as month, coalesce(reason, 'in a file') as what,"
        " count(*) as lines from parsed_headers where posted_at is not null group by all"
    )
    chart = (
        alt.Chart(months)
        .mark_bar()
        .encode(x=alt.X("month:T", title="posted"), y=alt.Y("lines:Q"), color=alt.Color("what:N"))
        .properties(width=640, height=260, title="Lines by month, and why some are in no file")
    )
    mo.ui.altair_chart(chart)


@app.cell
def _(alt, mo, session):
    sizes = session.frame(
        "select floor(log2(greatest(size_bytes, 1))) as power, is_readable,"
        " count(*) as releases from corpus_releases group by all"
    )
    mo.ui.altair_chart(
        alt.Chart(sizes)
        .mark_bar()
        .encode(
            x=alt.X("power:O", title="size, as a power of two of bytes"),
            y="releases:Q",
            color=alt.Color("is_readable:N", title="readable name"),
        )
        .properties(width=640, height=260, title="Sizes of releases")
    )


@app.cell
def _(alt, mo, session):
    complete = session.frame(
        "select round(100.0 * segments / nullif(segments_expected, 0) / 5) * 5 as percent,"
        ' "group", count(*) as releases from corpus_releases'
        " where segments_expected > 0 group by all"
    )
    mo.ui.altair_chart(
        alt.Chart(complete)
        .mark_line(point=True)
        .encode(
            x=alt.X("percent:Q", title="% of the segments found"),
            y=alt.Y("releases:Q"),
            color="group:N",
        )
        .properties(width=640, height=260, title="How complete releases are")
    )


if __name__ == "__main__":
    app.run()
