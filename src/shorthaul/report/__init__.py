"""Text tables, figures and self-contained HTML files, drawn from core types only."""
