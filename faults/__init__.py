"""Fault injection: processes killed, disks filled, servers ended, and an audit of what is left.

    python -m faults                      every fault, in full; half an hour
    python -m faults --short              the same in a minute
    python -m faults storm --kills 1000   one fault, with sizes of its own
    python -m faults storm --plant ack-before-commit    must fail: the bug is put into the workers

Only processes that were started here are ever killed, by their number. Workers keep a diary beside
the storage, never through it, and an audit compares the two.
"""
