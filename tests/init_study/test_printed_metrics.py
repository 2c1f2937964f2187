"""Which metric a script prints, and the pattern that finds it."""

import ast
import re

import pytest

from priorband.init_study.printed_metrics import printed_metrics


@pytest.mark.parametrize(
    ("code", "name", "goal", "line"),
    [
        ("print(f'val_loss={x:.3f}')", "val_loss", "minimize", "val_loss=0.25"),
        ("print('Test accuracy:', x)", "test_accuracy", "maximize", "Test accuracy: 0.25"),
        ("print('Epoch %d, val acc: %.2f' % (e, x))", "val_acc", "maximize", "val acc: 0.25"),
        ("logging.info('dev F1 = %f', x)", "dev_f1", "maximize", "dev F1 = 0.25"),
        (
            "print('Test set: Average loss: {:.4f}, n: {}'.format(x, n))",
            "average_loss",
            "minimize",
            "Test set: Average loss: 0.25, n: 3",
        ),
        (
            "print('score: {:.4f}'.format(x))\nprint('score duration: {:.3f}s'.format(t))",
            "score",
            "maximize",
            "score: 0.25",
        ),
        (
            "print(f'train loss {a:.2f}  valid loss {x:.2e}')",
            "valid_loss",
            "minimize",
            "train loss 9.00  valid loss 2.5e-1",
        ),
    ],
)
def test_a_printed_metric_is_found_with_its_pattern(
    code: str, name: str, goal: str, line: str
) -> None:
    best = printed_metrics(ast.parse(code))[0]
    assert (best.name, best.goal) == (name, goal)
    pattern = best.pattern or rf"{name}\s*[:=]\s*(\S+)"
    found = re.search(pattern, line)
    assert found is not None and float(found[1]) == 0.25


@pytest.mark.parametrize(
    ("code", "needed"),
    [
        ("print(f'val_loss={x:.3f}')", False),
        ("print(f'epoch {e}: val_loss={x:.3f}')", False),
        ("print(f'[{e}] val_loss: {x:.3f}')", False),
        ("print(f'epoch {e}/val_loss={x:.3f}')", True),
        ("print(f'at the end: val_loss={x:.3f}')", True),
        ("print('Test accuracy:', x)", True),
    ],
)
def test_a_pattern_is_made_only_where_a_study_file_needs_one(code: str, needed: bool) -> None:
    assert (printed_metrics(ast.parse(code))[0].pattern is not None) == needed


@pytest.mark.parametrize(
    "code",
    [
        "print(f'epoch {e} took {t:.1f} s')",
        "print('Error. Experiment already exists at {}'.format(p))",
        "print(f'loss time: {t}')",
        "print('done')",
    ],
)
def test_other_text_is_no_metric(code: str) -> None:
    assert printed_metrics(ast.parse(code)) == []


def test_a_logged_metric_comes_after_a_printed_one() -> None:
    logged = "wandb.log({'val_loss': x, 'epoch': e})\nself.log('val_acc', x)\n"
    found = printed_metrics(ast.parse(logged))
    assert [(one.name, one.pattern, one.label) for one in found] == [
        ("val_loss", None, ""),
        ("val_acc", None, ""),
    ]
    found = printed_metrics(ast.parse(f"{logged}print('val_acc=', x)"))
    assert found[0].name == "val_acc" and found[0].label
