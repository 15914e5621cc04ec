"""``python -m shorthaul`` is the command ``shorthaul``."""

from shorthaul.cli.main import main

if __name__ == "__main__":
    main()
