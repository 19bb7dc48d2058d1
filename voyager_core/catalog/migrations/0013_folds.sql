-- Folds: releases found to be parts of one upload, and the ledger by which that is taken back.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table release_fold (
    fold_id bigint generated always as identity primary key,
    winner_id bigint not null,
    loser_id bigint not null,
    winner_key bigint not null,
    loser_key bigint not null,
    folded_at timestamptz not null default now(),
    undone_at timestamptz,
    version integer not null,
    winner_generation smallint not null,
    loser_generation smallint not null,
    rule text not null,
    -- The rows as they were, and which candidates were the loser's.
    loser jsonb not null,
    winner jsonb not null,
    candidate_ids bigint[] not null
);

create index release_fold_winner on release_fold (winner_id);
create index release_fold_loser on release_fold (loser_id);
create index release_fold_keys on release_fold (loser_key, loser_generation);

-- The release that a chunk was stored for, where that was folded into another one.
alter table chunk add column folded_from bigint;
