"""Where a study is stored: its journal, its checkpoints and the files around them.

Start with `journal.py`.
"""
