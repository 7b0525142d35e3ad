"""`python -m fabricsim`."""

from fabricsim.cli import main

if __name__ == "__main__":
    main()
