"""Sample posts to find, and everything running to find them.

What belongs here: the sample posts and what must be found in them, the loopback news server
that serves them, and the run that indexes and verifies them. What does not: anything that the
indexer itself needs to know; starting and stopping processes is `supervisor`.
"""
