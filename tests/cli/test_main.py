"""Tests of the command line: output, streams, exit codes and robustness."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import click
import pytest

from tests.cli.running import FIRST, every_command, ids, in_shell, whorl
from whorl import Document, open_store
from whorl.cli.main import main

pytestmark = pytest.mark.usefixtures("folder")
ESCAPE = "\x1b[31m"


@pytest.mark.parametrize(
    ("words", "command"), list(every_command()), ids=lambda value: " ".join(value) if isinstance(value, list) else ""
)
def test_every_command_has_help(words: list[str], command: click.Command) -> None:
    """
    --help and -h print the same: usage, the purpose of the command, and an explanation of every option.
    """
    result = whorl(*words, "--help")
    assert result.exit_code == 0
    assert result.stdout == whorl(*words, "-h").stdout
    assert result.stdout.startswith("Usage: ")
    assert max(map(len, result.stdout.splitlines())) <= 100
    assert command.help
    assert [param.name for param in command.params if isinstance(param, click.Option) and not param.help] == []


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--help"], 0, "Usage: python -m whorl [OPTIONS] COMMAND"),
        (["--version"], 0, "whorl, version "),
        (["serach"], 2, "Try 'python -m whorl --help' for help."),
        (["search", "lease", "--store", "nosuch"], 1, "whorl: there is no store at nosuch"),
    ],
)
def test_the_package_runs_the_command_line(words: list[str], code: int, said: str) -> None:
    """
    `python -m whorl` is the command `whorl`; its help names the command that the user typed.
    """
    done = subprocess.run([sys.executable, "-m", "whorl", *words], capture_output=True, text=True, check=False)
    assert done.returncode == code
    assert said in done.stdout + done.stderr


def test_the_list_says_what_each_command_says() -> None:
    """
    The list of commands has the first sentence of each command's help, although it imports no command's module.
    """
    own = {words[0]: command for words, command in every_command() if len(words) == 1}
    assert list(main.commands) == sorted(own)
    for name, listed in main.commands.items():
        assert " ".join((own[name].help or "").split()).startswith(listed.help or "?")
        assert (listed.help or "").endswith(".")


#: Modules that most commands import.
HELPERS = {"main", "shared", "shared.flags", "shared.open_store_and_documents", "render", "render.terminal"}


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "modules"),
    [
        (["--help"], {"main"}),
        (["--version"], {"main"}),
        (["serach"], {"main"}),
        (
            ["delete", "--help"],
            {"status_list_delete_upgrade", *HELPERS},
        ),
        (["explain", "--help"], {"search_and_explain", *HELPERS}),
        (["similar", "--help"], {"similar", "render.result_tables", *HELPERS}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_is_imported_when_it_is_called(words: list[str], modules: set[str]) -> None:
    """
    The list of commands, and an unknown command, import no command, and of whorl only errors and lazy imports. The help
    of a search imports neither numpy nor the store.
    """
    at_the_end = "import sys, atexit; atexit.register(lambda: print(*sys.modules))"
    program = f"{at_the_end}; from whorl.cli.main import main; main({words})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    loaded = set(done.stdout.splitlines()[-1].split())
    prefix = "whorl.cli."
    own = {module.removeprefix(prefix) for module in loaded if module.startswith(prefix)}
    assert own - {"shared", "shared.single_value_options"} == modules - {"shared"}
    if not {"search_and_explain", "similar"}.isdisjoint(modules):
        assert not loaded & {"numpy", "sqlite3", "tantivy", "whorl.store"}
    if modules == {"main"}:
        known = {
            "whorl.cli",
            "whorl.cli.shared",
            "whorl.cli.main",
            "whorl.cli.shared.single_value_options",
            "whorl.errors",
            "whorl.lazy_exports",
        }
        assert {module for module in loaded if module.startswith("whorl.")} == known
        assert not loaded & {"numpy", "rich", "tantivy", "fastapi"}


@pytest.mark.process
@pytest.mark.parametrize(("command", "is_service"), [("search", False), ("serve", True)])
def test_only_services_collect_garbage_often(command: str, is_service: bool) -> None:
    """
    A command that ends changes Python's threshold for garbage collection; a service does not.
    """
    program = (
        "import atexit, gc; before = gc.get_threshold(); atexit.register(lambda: print(gc.get_threshold() == before))"
    )
    program += f"; from whorl.cli.main import main; main(['{command}', '--help'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == str(is_service)


#: Modules that no small command needs; importing them takes longer than the rest of the command.
NEVER_IMPORTED = {
    "annotated_types", "asyncio", "bs4", "fastapi", "numba", "opensearchpy", "pydantic", "pysolr", "requests",
    "typing_extensions", "urllib3",
    "whorl.operations.duplicates_options", "whorl.operations.index_delete_simhash_options",
    "whorl.operations.sources_and_verify_options", "whorl.output.sources",
}  # fmt: skip
PARSER, STORE, PASSAGES, SIMILAR = (
    {"lark", "whorl.query.parser"},
    {"sqlite3", "tantivy", "whorl.store"},
    {"whorl.output.compare_documents"},
    {"whorl.search.boilerplate", "whorl.search.prepared_similar", "whorl.search.similar.sketch_plan"},
)


@pytest.mark.process
@pytest.mark.parametrize(
    ("words", "unused"),
    [
        (["search", "lease", "--store", "store"], PASSAGES | SIMILAR),
        (["search", "FINGERPRINT:notes/a.txt", "--store", "store"], PASSAGES | SIMILAR),
        (["search", "lease", "--store", "store", "--json"], PASSAGES | {"rich"}),
        (["similar", "notes/a.txt", "--store", "store"], PARSER | PASSAGES),
        (["compare", "notes/a.txt", "notes/b.txt"], PARSER | STORE),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_small_commands_import_only_their_own_modules(notes: Path, words: list[str], unused: set[str]) -> None:
    """
    A search, a search for similar documents and a comparison import no module that only other commands use.
    """
    at_the_end = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    program = f"{at_the_end}; from whorl.cli.main import main; main({words})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "whorl.operations" in loaded
    assert loaded & (NEVER_IMPORTED | unused) == set()


@pytest.mark.process
@pytest.mark.usefixtures("notes")
def test_duplicates_of_files_import_no_store() -> None:
    """
    `whorl duplicates` of files imports no store and no query planner, which takes a tenth of the time.
    """
    at_the_end = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr))"
    program = f"{at_the_end}; from whorl.cli.main import main; main(['duplicates', 'notes'])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert done.returncode == 0
    assert "whorl.duplicates.run" in loaded
    assert not loaded & {"whorl.store", "whorl.query.plan.planner"}


@pytest.mark.parametrize(
    "words",
    [
        ["serach", "x"],
        ["search"],
        ["search", "a", "b"],
        ["index"],
        ["delete"],
        ["solr", "chekc"],
        ["index", "--batch", "0", "."],
    ],
    ids=" ".join,
)
def test_wrong_usage(words: list[str]) -> None:
    """
    Wrong usage is exit code 2 with a pointer to the help.
    """
    result = whorl(*words)
    assert result.exit_code == 2
    assert "--help" in result.stderr


def test_bad_settings_are_mistakes(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    An invalid setting is exit code 2 with the name of the variable.
    """
    monkeypatch.setenv("WHORL_TIMEOUT", "soon")
    result = whorl("search", "x")
    assert (result.exit_code, result.stderr) == (
        2, "whorl: WHORL_TIMEOUT must be seconds, above 0 and below a day, got 'soon'\n",
    )  # fmt: skip


def test_no_control_characters_reach_the_terminal(folder: Path) -> None:
    """
    Control characters are replaced in names, references, file names, warnings and errors.
    """
    (folder / f"a{ESCAPE}.bin").write_bytes(bytes(100))
    with open_store(folder / "store") as store:
        store.index([Document("c1", FIRST, name=f"{ESCAPE}red\r\n\x9b")])
    outputs = [
        whorl("search", "--store", "store", "*"),
        whorl("search", "--store", "store", "--json", "*"),
        whorl("search", "--store", "store", "--explain", "FINGERPRINT:c1\\u009b31m"),
        whorl("search", "--store", "store", 'FINGERPRINT:"\\u001b[31m" "\\u009b"'),
        whorl("explain", "--store", "store", '"\\u001b[31m" \\u009bx:y'),
        whorl("index", "--store", "store", f"a{ESCAPE}.bin"),
        whorl("search", "--store", f"no{ESCAPE}store", "*"),
        whorl("index", "--store", f"a{ESCAPE}.bin", "store"),
    ]
    for result in outputs:
        assert result.output
        assert set(filter(lambda char: not char.isprintable(), result.output)) <= {"\n"}
    assert ids(json.loads(outputs[1].stdout)) == ["c1"]


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs bash")
@pytest.mark.parametrize("options", ["", "--json", "--explain"])
def test_a_reader_that_has_seen_enough(notes: Path, options: str) -> None:
    """
    `whorl search … | head -1`, and a reader that exits at once, cause no error and no message.
    """
    done = in_shell(f"whorl search --store store {options} '*' | head -1")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.count(b"\n") == 1
    done = in_shell(f"whorl search --store store {options} '*' | true")
    assert (done.returncode, done.stderr) == (0, b"")


#: Commands that write by click, by rich, as bytes and through a buffer, and the help, which is printed before any
#: command runs.
WRITING = [
    "search --store store --json '*'",
    "search --store store '*'",
    "fingerprint --format npy notes/a.txt",
    "duplicates notes --threshold 50 --format csv",
    "--help",
]


@pytest.mark.process
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", WRITING)
def test_a_full_disk_under_the_output(notes: Path, words: str) -> None:
    """
    A full disk is one message and exit code 1.
    """
    done = in_shell(f"whorl {words} > /dev/full")
    assert (done.returncode, done.stderr) == (1, b"whorl: [Errno 28] No space left on device\n")


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs bash")
@pytest.mark.parametrize("words", WRITING)
def test_a_closed_output(notes: Path, words: str) -> None:
    """
    Closed standard output is one message and exit code 1.
    """
    done = in_shell(f"whorl {words} >&-")
    assert (done.returncode, done.stderr) == (1, b"whorl: standard output is closed\n")


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="needs bash")
def test_closed_streams_that_are_not_needed(notes: Path) -> None:
    """
    A command that prints nothing works with closed standard output, every command with closed standard error; closed
    standard input is an error only if it is read. With both outputs closed, the exit code still signals the error.
    """
    done = in_shell("whorl duplicates notes --threshold 50 -o found.json >&-")
    assert (done.returncode, len(Path("found.json").read_text().splitlines())) == (0, 1), done.stderr
    assert in_shell("whorl search --store store '*' >&- 2>&-").returncode == 1
    done = in_shell("whorl fingerprint - <&-")
    assert (done.returncode, done.stderr) == (2, b"whorl: - is standard input, and that is closed; name a file\n")
    done = in_shell("whorl index --store store notes 2>&-")
    assert (done.returncode, done.stdout) == (0, b"0 documents stored in store, 3 unchanged and left alone.\n")


@pytest.mark.process
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252"])
def test_terminals_with_few_characters(notes: Path, encoding: str) -> None:
    """
    Characters that the encoding lacks are question marks in tables, and escaped in JSON.
    """
    (notes / "日本.txt").write_text(FIRST, encoding="utf-8")
    table = in_shell(
        "whorl index --store store notes && whorl search --store store FINGERPRINT:notes/日本.txt",
        PYTHONIOENCODING=encoding,
    )
    assert table.returncode == 0, table.stderr
    assert b"notes/??.txt" in table.stdout
    result = in_shell("whorl search --store store --json FINGERPRINT:notes/日本.txt", PYTHONIOENCODING=encoding)
    assert "notes/日本.txt" in ids(json.loads(result.stdout.decode(encoding)))


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes")
def test_arguments_that_are_no_utf_8(notes: Path) -> None:
    """
    In a query, bytes that are not UTF-8 are an error with their position; in a file name, they are reported. Neither is
    a traceback.
    """
    done = in_shell(r"whorl search --store store $'fox \xff'")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"whorl: U+DCFF")
    done = in_shell(r"echo x > $'notes/\xff.txt'; whorl index --store store notes")
    assert done.returncode == 0
    assert b"1 could not be stored" in done.stderr


def test_settings_of_a_named_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    --config names the settings file for the command and its child processes; a missing file is an error.
    """
    monkeypatch.setenv("WHORL_CONFIG", "")
    with open_store(tmp_path / "named") as store:
        store.index([Document("a", "five words in one document")])
    Path("own.toml").write_text(f"store = '{tmp_path / 'named'}'\nsolr_verify = false", encoding="utf-8")
    result = whorl("--config", "own.toml", "search", "words", "--json")
    assert [hit["id"] for hit in json.loads(result.stdout)["hits"]] == ["a"]
    assert os.environ["WHORL_CONFIG"] == "own.toml"
    result = whorl("--config", "gone.toml", "search", "words")
    assert (result.exit_code, "gone.toml cannot be read" in result.stderr) == (2, True)


@pytest.mark.process
@pytest.mark.skipif(os.name != "posix", reason="sends a signal")
@pytest.mark.parametrize(("module", "is_hidden"), [("llvmlite.binding.executionengine", True), ("other", False)])
def test_an_interrupt_in_a_callback_of_the_compiler_is_not_lost(module: str, is_hidden: bool) -> None:
    """
    Python ignores an interrupt in a callback; the command gets it again and prints nothing about the callback.
    """
    program = f"""
import ctypes, signal, sys, click
from whorl.cli.main import main
# A process in the background of a shell ignores the signal.
signal.signal(signal.SIGINT, signal.default_int_handler)
def notify():
    raise KeyboardInterrupt
notify.__module__ = {module!r}
@click.command()
def compiling():
    ctypes.CFUNCTYPE(None)(notify)()
    # Do not wait for the signal in a system call, because it can arrive just before the call.
    while {is_hidden}:
        pass
main.get_command = lambda context, name: compiling
main(["compiling"])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, "Exception ignored" in done.stderr) == ((1, False) if is_hidden else (0, True))
    assert ("Aborted!" in done.stderr) == is_hidden
