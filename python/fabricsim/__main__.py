"""`python -m fabricsim`."""

from fabricsim_command import main

if __name__ == "__main__":
    main()
