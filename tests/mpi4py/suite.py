"""Rank program: runs modules of mpi4py's own tests. Usage: suite.py MODULE..., with their folder as own modules."""

import sys
import unittest


def main() -> None:
    loader, result = unittest.TestLoader(), unittest.TestResult()
    for name in sys.argv[1:]:
        loader.loadTestsFromName(name).run(result)
    for test, text in [*result.failures, *result.errors]:
        print(f"FAILED {test}\n{text}", file=sys.stderr)
    for test, reason in result.skipped:
        print(f"skipped {test.id()}: {reason}")
    print(
        f"ran {result.testsRun} skipped {len(result.skipped)} failed {len(result.failures) + len(result.errors)}"
    )
    if not result.wasSuccessful():
        sys.exit(1)


main()
