"""``python -m shorthaul`` is the command ``shorthaul``."""

from shorthaul.cli.app import main

if __name__ == "__main__":
    main()
