-- One index answers words together with what goes with them: a season, an episode, or when they
-- were posted (a week, eight weeks, 64 weeks). The entries are intersected before a release is read, so that neither a title of common
-- words with an episode nor the newest that hold common words read what does not match.

set local lock_timeout = '5s';
set local statement_timeout = '240min';

-- Storing spans waits while it is built, and is tried again; searches go on with the old one.
-- squawk-ignore require-concurrent-index-creation
create index release_tok_place on release using gin (
    tok,
    (array[
        -1 - season::bigint,
        season::bigint * 2147483648 + episode,
        -1099511627776
            - greatest(0, (posted_at at time zone 'utc')::date - date '1970-01-01') / 7,
        -2199023255552
            - greatest(0, (posted_at at time zone 'utc')::date - date '1970-01-01') / 56,
        -3298534883328
            - greatest(0, (posted_at at time zone 'utc')::date - date '1970-01-01') / 448
    ])
) with (fastupdate = on, gin_pending_list_limit = 16384);

-- At the very end: it locks searches out.
-- squawk-ignore require-concurrent-index-deletion
drop index release_tok;
-- squawk-ignore renaming-object
alter index release_tok_place rename to release_tok;

-- How many releases were posted since a day, to a thousandth of all, and not long ago.
alter table release alter column posted_at set statistics 1000;
alter table release set (autovacuum_analyze_scale_factor = 0.02);
