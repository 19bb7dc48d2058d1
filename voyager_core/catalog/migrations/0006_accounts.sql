-- Accounts of people on the web page. Passwords and sessions are stored as hashes only.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

create table account (
    account_id integer generated always as identity primary key,
    name text not null unique,
    password_hash text not null,
    created_at timestamptz not null default now(),
    last_login_at timestamptz
);

create table web_session (
    session_hash bytea primary key check (octet_length(session_hash) = 32),
    account_id integer not null references account on delete cascade,
    created_at timestamptz not null,
    seen_at timestamptz not null,
    expires_at timestamptz not null
);

create index web_session_account on web_session (account_id);
create index web_session_expires on web_session (expires_at);
