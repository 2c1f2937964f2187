"""Fault injection: kill workers, fill disks and stop servers, then audit what is left of a study.

    python -m faults                      every fault, in full; about half an hour
    python -m faults --short              the same in a minute or two
    python -m faults storm --kills 1000   one fault, with another size
    python -m faults storm --plant ack-before-commit    plant a bug in the workers: must fail

Only processes that were started here are ever killed, by their pid. Workers write a log beside the
storage, never through it, and an audit compares the log with the records of the study.
"""
