"""Load / store schedules for computation DAGs on a small fast memory."""
