"""The vocabulary that every engine speaks. Imports nothing else of the project."""
