-- What tells whether a release that lacks something can be repaired.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

alter table release
    add column recovery_bytes bigint not null default 0,
    -- Missing segments of found files that are no recovery files.
    add column content_missing integer not null default 0,
    -- Blocks in the recovery files of which every segment is there.
    add column recovery_blocks integer not null default 0,
    add column largest_file integer not null default 0;

alter table chunk
    add column recovery_bytes bigint not null default 0,
    add column content_missing integer not null default 0,
    add column recovery_blocks integer not null default 0,
    add column largest_file integer not null default 0;
