-- The release catalog: one hot row a release, sized for 115 million of them.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table release (
    release_id bigint generated always as identity primary key,
    -- The engine's 64-bit key in two's complement; with the generation it is the public id.
    release_key bigint not null,
    size_bytes bigint not null,
    segments_expected bigint,
    posted_at timestamptz not null,
    last_posted_at timestamptz not null,
    listed_at timestamptz not null,
    changed_at timestamptz not null,
    settled_at timestamptz,
    -- Feeds go by the moment of listing for new posts and by the posting date for history,
    -- so that a late release is not missed and a backfill floods nobody.
    feed_at timestamptz generated always as (
        case when listed_at - posted_at <= interval '7 days' then listed_at else posted_at end
    ) stored,
    newsgroup_id integer not null references newsgroup,
    category integer not null,
    files integer not null,
    files_expected integer,
    segments integer not null,
    season integer,
    season_last integer,
    episode integer,
    episode_last integer,
    aired_on date,
    grabs integer not null default 0,
    year smallint,
    generation smallint not null,
    -- -1 unknown, 0 none, 1 needs one, 2 an archive inside may need one.
    password smallint not null default -1,
    has_par2 boolean not null,
    is_readable boolean not null,
    group_ids integer[] not null,
    tok integer[] not null,
    name text not null,
    poster text,
    unique (release_key, generation)
) with (fillfactor = 85);

-- Token hashes of the name: 28 bytes a name against 95 for trigrams.
create index release_tok on release using gin (tok)
    with (fastupdate = on, gin_pending_list_limit = 16384);
create index release_group_ids on release using gin (group_ids)
    with (fastupdate = on, gin_pending_list_limit = 4096);
create index release_posted on release (posted_at, release_id);
create index release_feed on release (feed_at, release_id);
create index release_category_feed on release (category, feed_at, release_id);
create index release_unsettled on release (newsgroup_id, posted_at) where settled_at is null;

-- The planner needs to know which words are common; the default target sees too few of them.
alter table release alter column tok set statistics 400;

-- Public ids of releases that became part of another one.
create table release_alias (
    release_key bigint not null,
    release_id bigint not null references release,
    merged_at timestamptz not null default now(),
    generation smallint not null,
    reason text not null,
    primary key (release_key, generation)
);

create index release_alias_release on release_alias (release_id);
