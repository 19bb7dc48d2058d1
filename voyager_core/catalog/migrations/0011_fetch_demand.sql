-- What passes over the history wait for, so that a fetcher brings it; rows live for minutes.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table fetch_demand (
    range_id integer not null references range on delete cascade,
    low bigint not null,
    high bigint not null,
    -- The order in which one pass needs its ranges.
    place integer not null,
    asked_at timestamptz not null default clock_timestamp(),
    expires_at timestamptz not null,
    -- What the fetcher could not bring, and what kind of error that is.
    failed text,
    failed_kind text,
    primary key (range_id, low),
    check (low >= 1 and high >= low)
);
