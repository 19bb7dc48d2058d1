-- Articles that were set aside as a repost's remnant while cut files were put together: no single
-- span shows what they are, so that they are kept, and a retraction of the rule can bring them back.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

-- What was dropped is in `remnant` and is not found by reading the span again.
alter table span_drop add column set_aside boolean not null default false;

create table remnant (
    remnant_id bigint generated always as identity primary key,
    span_drop_id bigint not null references span_drop,
    file_key bigint not null,
    base_key bigint not null,
    release_key bigint,
    reach_low bigint not null,
    reach_high bigint not null,
    first_number bigint not null,
    last_number bigint not null,
    segments integer not null,
    -- The file's other columns, as merging gave them, and how many parts the file itself has.
    file jsonb not null,
    payload bytea not null
);

alter table remnant alter column payload set storage external;

create index remnant_span_drop on remnant (span_drop_id);
