"""Entry point: ``python run.py`` runs the nano experiment, ``python run.py --help`` says what else there is."""

import sys

from kimina.experiment.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
