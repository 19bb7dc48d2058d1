-- The chunk store (bulk, written once), files cut by a span's edge, and articles worth reading.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

-- Partitioned by month of posting; partitions are created when the first chunk needs one.
-- The sums are those of the payload, so that a release can be added up without decoding.
create table chunk (
    release_id bigint not null,
    low bigint not null,
    high bigint not null,
    size_bytes bigint not null,
    segments_expected bigint,
    posted_at timestamptz not null,
    last_posted_at timestamptz not null,
    stored_at timestamptz not null default now(),
    posted_month date not null,
    range_id integer not null,
    files integer not null,
    files_expected integer,
    segments integer not null,
    origin text not null default 'span' check (origin in ('span', 'fragments', 'recovery')),
    has_par2 boolean not null,
    payload bytea not null
) partition by range (posted_month);

-- The payload is incompressible: neither pglz nor its attempt is worth the CPU.
alter table chunk alter column payload set storage external;

create index chunk_release on chunk (release_id);
create index chunk_range on chunk using brin (range_id);

create table fragment (
    fragment_id bigint generated always as identity primary key,
    file_key bigint not null,
    base_key bigint not null,
    release_key bigint,
    -- The article numbers in which the missing segments can lie.
    reach_low bigint not null,
    reach_high bigint not null,
    first_number bigint not null,
    last_number bigint not null,
    posted_at timestamptz,
    stored_at timestamptz not null default now(),
    newsgroup_id integer not null references newsgroup,
    range_id integer not null references range,
    segments integer not null,
    -- The file's other columns, as the header pass gave them.
    file jsonb not null,
    payload bytea not null
);

alter table fragment alter column payload set storage external;

create index fragment_file on fragment (newsgroup_id, base_key);
create index fragment_reach on fragment (newsgroup_id, reach_high);

create table candidate (
    candidate_id bigint generated always as identity primary key,
    release_id bigint not null,
    file_key bigint not null,
    part integer not null,
    kind text not null
        check (kind in ('archive_first', 'par2_index', 'lone_random', 'sevenz_last')),
    message_id text not null
);

create index candidate_release on candidate (release_id);
