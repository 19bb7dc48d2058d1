"""Sensors decide what is run next; assets do it.

A tick asks the catalog by SQL and ends within seconds. It asks for nothing while the last runs
failed one after the other: the wait doubles, so that a wrong password is not tried all day.
"""
