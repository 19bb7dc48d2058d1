-- Keys of the API. Only a hash is stored; the key itself is shown once.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table api_key (
    api_key_id integer generated always as identity primary key,
    label text not null,
    key_hash bytea not null unique check (octet_length(key_hash) = 32),
    created_at timestamptz not null default now(),
    revoked_at timestamptz,
    last_used_at timestamptz,
    requests_per_day integer check (requests_per_day >= 0),
    grabs_per_day integer check (grabs_per_day >= 0)
);

-- Uses by ten seconds; a rolling day is their sum.
create table api_use (
    api_key_id integer not null references api_key on delete cascade,
    kind text not null,
    used_at timestamptz not null,
    uses integer not null,
    primary key (api_key_id, kind, used_at)
);

-- A release counts as grabbed once a key and day.
create table api_grab (
    release_id bigint not null,
    api_key_id integer not null references api_key on delete cascade,
    grabbed_on date not null,
    primary key (api_key_id, grabbed_on, release_id)
);
