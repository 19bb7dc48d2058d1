"""Voyager with everything it needs, on one machine, and a set of sample posts to find.

What belongs here: the sample posts and what must be found in them, the loopback news server
that serves them, and the processes that `voyager demo` and `voyager up` start and stop.
What does not: anything that the indexer itself needs to know.
"""
