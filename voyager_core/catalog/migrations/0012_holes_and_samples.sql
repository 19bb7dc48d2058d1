-- Numbers at the newest end that the server did not show, and where newsgroups stood when.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

-- Articles can arrive after higher numbers did; these are asked for again, a few times.
create table hole (
    hole_id bigint generated always as identity primary key,
    range_id integer not null references range,
    low bigint not null,
    high bigint not null,
    missing int8multirange not null,
    missing_count bigint not null,
    tries integer not null default 0,
    found_at timestamptz not null default now(),
    -- Null: given up, the numbers have no article.
    next_at timestamptz,
    check (low >= 1 and high >= low)
);

create index hole_due on hole (next_at) where next_at is not null;
create index hole_range on hole (range_id);

create table group_sample (
    newsgroup_id integer not null references newsgroup,
    taken_at timestamptz not null,
    high bigint not null,
    indexed bigint not null,
    primary key (newsgroup_id, taken_at)
);

create index group_sample_taken on group_sample (taken_at);
