"""From C text to a program of statements, domains and accesses."""
