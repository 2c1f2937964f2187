"""The report card as text: at most 80 columns, whatever the names and values are."""

from math import nan

import pytest

import priorband as pb
from priorband.prior_report.report import Draws, ParameterReport, TrustOverBudget
from priorband.prior_report.sentence import sentence
from priorband.prior_report.text import trust_text


def of(name: str, verdict: str, log_odds: float = 0.0, **fields: object) -> ParameterReport:
    usual: dict[str, object] = {"believed": 0.001, "best": 0.02, "wants": "", "better": None}
    usual |= {"full_trainings": 9, "effect": 0.1, "error": 0.1, "quantile": 0.9, "odds": 0.5}
    return ParameterReport(name=name, verdict=verdict, log_odds=log_odds, **(usual | fields))  # type: ignore[arg-type]  # as given


def test_the_sentence_of_a_prior_that_helps_but_for_one_parameter() -> None:
    parameters = (
        of("lr", "harms", -1.0, wants="higher"),
        of("width", "harms", -0.5, wants="lower"),
        of("depth", "helps", 2.0, wants="higher"),
    )
    assert sentence("helps", Draws(27, 16, 3, 3), parameters, "") == (
        "Your prior helps: it drew 16 of 27 starts and all 3 finalists; `lr` wants to be higher "
        "than 0.001."
    )


@pytest.mark.parametrize(
    ("verdict", "draws", "expected"),
    [
        ("harms", Draws(27, 0, 1, 0), "Your prior harms: it drew none of 27 starts and none of 1 "),
        ("harms", Draws(9, 9, 1, 1), "Your prior harms: it drew all 9 starts and the only final"),
        ("neutral", Draws(9, 1, 2, 0), "Your prior neither helps nor harms, as far as the results"),
        ("no belief", Draws(9, 0, 1, 0), "This study has no prior"),
        ("not enough evidence", Draws(1, 0, 0, 0), "There is not enough evidence about your prior"),
    ],
)
def test_other_sentences(verdict: str, draws: Draws, expected: str) -> None:
    found = sentence(verdict, draws, (), "why")  # type: ignore[arg-type]  # one of the verdicts
    assert found.startswith(expected) and found.endswith(".")


def test_a_choice_that_should_be_another() -> None:
    act = of("act", "harms", -1.0, wants="another choice", better="gelu\x1b", believed="relu")
    found = sentence("harms", Draws(9, 1, 2, 0), (act,), "")
    assert found.endswith("`act` wants to be gelu\\x1b rather than relu.")


def test_trust_by_quarter() -> None:
    trust = TrustOverBudget(
        (0, 1, 2, 3),
        (0.0, 1.0, 5.0, 8.0),
        (0, 0, 0, 0),
        (0.5,) * 4,
        (0.5, 0.3, 0.1, 0.0),
        (0.0,) * 4,
    )
    assert trust_text(trust) == "Draws from the prior by quarter of the budget: 40 %, -, 10 %, 0 %."


def test_many_parameters_with_long_names_fit_80_columns() -> None:
    space = pb.Space(
        {
            f"a.very.long.name.of.a.parameter.{i}": pb.Categorical(
                [f"choice\n{'x' * 40}", "\x1b[31mred"], prior="\x1b[31mred"
            )
            for i in range(30)
        }
    )
    study = pb.Study(space, pb.Fidelity("epochs", 1, 9), seed=2)
    first = space.names[0]
    pb.simulate(study, lambda config, z: len(config[first]) + 1 / z, budget=12)
    text = str(study.prior_report())
    table = text.partition("Suggested")[0].splitlines()
    assert max(map(len, table)) <= 80 and "and 14 more parameters" in table
    assert text.replace("\n", "").isprintable()


def test_the_report_of_a_study_of_a_few_parameters_fits_a_screen() -> None:
    space = pb.Space({name: pb.Float(0, 1, prior=0.9) for name in "abcdef"})
    study = pb.Study(space, pb.Fidelity("epochs", 1, 27), seed=2)
    pb.simulate(study, lambda config, z: sum(config.values()) + 1 / z, budget=12)
    lines = str(study.prior_report()).splitlines()
    assert len(lines) <= 32 and max(map(len, lines)) <= 80
    assert lines[0].startswith("Your prior harms: it drew ")
    assert not any(str(nan) in line for line in lines)
