"""What each option of a script is for: a hyperparameter, the training length, a folder, ..."""

import re
from typing import Literal, final

from priorband.init_study.guesses import has_tuned_word, known, plain_name
from priorband.init_study.option import Option
from priorband.values import frozen

Role = Literal["parameter", "length", "seed", "save", "resume", "left out", "set"]


@final
@frozen
class OptionRole:
    """An option, what it is for, and why it is left out if it is."""

    option: Option
    role: Role
    reason: str = ""


LENGTHS = (
    r"(n|num|max|nb|total|train|training|num_train|number_of|no_of)?_?(of_)?n?epoch(s|es)?",
    r"(n|num|max|nb|total|train|training|max_train|num_train|num_training)?_?(train_)?steps",
    r"(n|num|max|nb|total|train|training|number_of)?_?(train_)?(iters?|iterations?|niters?)",
    r"(num_boost_round|boost_rounds|num_rounds?|n_rounds|rounds|n_estimators|num_trees|n_trees|ntrees)",
    r"(total_)?(time_?steps|env_steps|updates|frames|episodes)|max_updates?|num_updates"
    r"|(num|n|max)_(episodes|frames|timesteps)",
)
"""Names of training lengths, the best unit first."""

_SEED = r"(random_|manual_|rng_|global_|torch_|np_)?seed|random_state"
_SAVE = (
    r"out|output|outdir|outputdir|out_dir|output_dir|output_folder|out_path|output_path|save|savedir|"
    r"save_dir|save_path|save_to|save_folder|model_dir|model_path|checkpoint_dir|checkpoints?_dir|"
    r"ckpt_dir|ckpt_path|checkpoint_path|checkpoints?|ckpt|workdir|work_dir|results?_dir|exp_dir|"
    r"save_model_path|save_model|run_dir|model_save_path|save_file|output_file"
)
_RESUME = (
    r"resume|resume_from|resume_path|resume_from_checkpoint|resume_checkpoint|resume_ckpt|restore|"
    r"restore_from|restore_path|continue_from|load_checkpoint|load_ckpt|restore_file"
)
_NOT_TUNED = (
    (
        "where data is read or results go",
        r"data|dataset|datasets|path|paths|dir|dirs|folder|file|files|filename|root|csv|json|yaml|"
        r"config|cfg|input|output|out|save|load|download|cache|url|split|fold|annotations?|"
        r"trainset|testset|valset|corpus|vocab|tokenizer|database|host|port|address|split_ratio|"
        r"test_size|val_size|train_size|val_split|test_split|train_split|val_ratio|test_ratio|"
        r"train_ratio|valid_ratio|val_frac|val_fraction",
    ),
    (
        "how and where it runs",
        r"device|devices|gpu|gpus|gpu_id|ngpu|ngpus|cuda|cpu|cpus|no_cuda|mps|tpu|worker|workers|"
        r"num_workers|jobs|n_jobs|thread|threads|nthread|nthreads|processes|num_proc|rank|local_rank|"
        r"world_size|dist|distributed|ddp|backend|nodes|node|amp|fp16|fp32|bf16|half|precision|"
        r"compile|jit|pin|prefetch|deterministic|benchmark|platform|accelerator|strategy|"
        r"memory|timeout|parallel|shard|offload|checkpointing|port|dtype",
    ),
    (
        "what is shown or logged",
        r"verbose|verbosity|quiet|silent|log|logs|logging|logger|logdir|logfile|wandb|tensorboard|"
        r"project|entity|name|tag|tags|notes?|debug|dry|dryrun|print|printfreq|display|plot|plots|show|"
        r"visuali[sz]e|profile|profiler|progress|freq|frequency|interval|every|report|comment|"
        r"experiment|exp|run|id|title|version|help|hub|push|token|upload|private",
    ),
    (
        "what is evaluated or saved",
        r"eval|evaluate|evaluation|test|testing|predict|inference|validate|checkpoint|checkpoints|"
        r"ckpt|pretrained|finetune|weights|export|onnx|num_samples|n_samples|samples|n_samples_max|resume|"
        r"start_epoch|initial_epoch|save_total_limit|keep|limit|max_train|max_eval|overwrite",
    ),
    (
        "what the task is",
        r"model|models|arch|architecture|network|net|backbone|classes|nclasses|num_classes|n_classes|"
        r"num_labels|labels|task|env|env_id|environment|image|img|img_size|image_size|resolution|"
        r"crop|crop_size|input_size|in_channels|out_channels|input_dim|output_dim|in_dim|out_dim|"
        r"vocab_size|seq_len|seq_length|max_length|max_len|max_seq_length|block_size|context_length|"
        r"sequence_length|mean|std|loss|criterion|objective|metric|language|lang|source|target|"
        r"noise_type|missing|nan|n_informative|mode|method|algorithm|algo|type|problem|scale|"
        r"n_features|num_features|year",
    ),
    (
        "it ends a training early, which the fidelity does already",
        r"patience|early_stop|early_stopping|earlystop|stop|tolerance|tol",
    ),
)
_SIZES_OF_THE_TASK = (
    r"(n|num|number_of|nb)_?(features|classes|labels|channels)|(in|out|input|output|image|img)_"
    r"(channels?|dim|features|size|width|height)"
)
_SWITCHES_THAT_ARE_TUNED = (
    r"nesterov|amsgrad|bias|augment|augmentation|aug|bn|batch_?norm|layer_?norm|norm|residual|"
    r"skip|tied?|bidirectional|attention|cosine|warmup|ema|mixup|cutmix|whiten|normali[sz]e"
)


def role_of(option: Option) -> OptionRole:
    """What an option is for."""
    name = plain_name(option.name)
    if re.fullmatch(_SEED, name):
        return _with_value(option, "seed", ("integer", "text", "unknown"))
    if _length_rank(option) is not None:
        return _with_value(option, "length", ("integer", "float"))
    place = _place_role(option, name)
    if place is not None:
        return place
    reason = _reason_against(option, name)
    return OptionRole(option, "left out", reason) if reason else OptionRole(option, "parameter")


def best_length(options: list[Option]) -> Option | None:
    """The option that says how long to train, the best of several."""
    ranked = [(_length_rank(option), option) for option in options]
    usable = [(rank, _unset(option), option) for rank, option in ranked if rank is not None]
    return min(usable, key=lambda found: found[:2])[2] if usable else None


def _unset(option: Option) -> bool:
    """Whether an option does nothing by default, as `--max-steps -1`."""
    value = option.default
    return not (isinstance(value, int | float) and value > 0)


def _length_rank(option: Option) -> int | None:
    name = plain_name(option.name)
    if option.kind not in ("integer", "float"):
        return None
    return next((i for i, words in enumerate(LENGTHS) if re.fullmatch(words, name)), None)


def _with_value(option: Option, role: Role, kinds: tuple[str, ...]) -> OptionRole:
    if option.kind in kinds:
        return OptionRole(option, role)
    return OptionRole(option, "left out", f"it is a {option.kind}")


def _place_role(option: Option, name: str) -> OptionRole | None:
    """Where checkpoints are written to or read from; None for other options."""
    takes_a_place = option.kind in ("text", "path") and not option.choices
    says = option.help.lower()
    if re.fullmatch(_RESUME, name):
        if takes_a_place:
            return OptionRole(option, "resume")
        return OptionRole(option, "left out", f"it is a {option.kind}, and takes no folder")
    if not takes_a_place or not re.fullmatch(_SAVE, name):
        return None
    reads = re.search(r"\b(resume|load|restore|continue|from|pretrained|evaluate)\b", says)
    writes = re.search(r"\b(save|write|output|store|dump)", says)
    if reads and not writes:
        resumes = re.search(r"\b(resume|continue)\b", says)
        return OptionRole(option, "resume" if resumes else "left out", "it is read, not written")
    return OptionRole(option, "save")


def _reason_against(option: Option, name: str) -> str:
    """Why an option is not a parameter; empty if it is one."""
    if option.kind == "list":
        return "it takes several values"
    if re.fullmatch(_SIZES_OF_THE_TASK, name):
        return "what the task is"
    tuned = has_tuned_word(name)
    takes_numbers = option.kind in ("float", "integer")
    if not (takes_numbers and known(option)) and not (tuned and option.choices):
        for reason, words in _NOT_TUNED:
            if re.search(rf"(^|_)({words})(_|$)", name):
                return reason
    return "" if option.choices else _reason_of_kind(option, name)


def _reason_of_kind(option: Option, name: str) -> str:
    if option.kind in ("switch", "yes-no", "flag"):
        tuned = re.fullmatch(rf"(use_|with_|no_)?({_SWITCHES_THAT_ARE_TUNED})", name)
        is_off = option.kind != "flag" or option.default is False
        return "" if tuned and is_off else "on or off, and not known as a hyperparameter"
    if option.kind == "unknown" and isinstance(option.default, int | float):
        return "it has no `type=`, so the script would get text instead of a number"
    if option.kind in ("text", "path"):
        return "any text is allowed; to search it, list its values as `choices`"
    if option.kind == "unknown":
        return "its type could not be read"
    return ""
