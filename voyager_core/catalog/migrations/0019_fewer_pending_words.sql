-- Every search reads all entries that wait to be put into their lists: 16 MB of them are 60,000 releases
-- and cost it 16 ms. With 2 MB that is one, and storing a release takes 2 µs more.

set local lock_timeout = '5s';
set local statement_timeout = '60s';

alter index release_tok set (gin_pending_list_limit = 2048);
alter index release_range_tok set (gin_pending_list_limit = 256);
