"""Settings from the environment and whorl.toml: all entries are read, errors name the entry, secrets stay hidden."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import hypothesis
import platformdirs
import pytest
from hypothesis import strategies as st

from whorl.engine.configured_fields import FieldNames
from whorl.errors import ParameterError
from whorl.settings.settings import (
    ADDRESS,
    FIELDS,
    FILE,
    FLAG,
    FOLDER,
    LOGIN,
    NAMES,
    SECONDS,
    Setting,
    Settings,
    ValueType,
    all_settings,
    integer,
    text,
    texts,
    write_file,
)

PAGE = (Path(__file__).parents[2] / "docs" / "settings.md").read_text(encoding="utf-8")


def configured(text: str) -> Settings:
    """Return the settings of a whorl.toml, with an empty environment."""
    Path("whorl.toml").write_text(text, encoding="utf-8")
    return Settings.load({})


def test_defaults_need_no_settings() -> None:
    """
    Defaults are a folder in the user's data directory, a minute, whorl's field names, and no secret.
    """
    settings = Settings.load({})
    assert settings.store == str(platformdirs.user_data_path("whorl") / "store")
    assert settings.timeout_seconds == 60
    assert settings.solr_auth is None
    assert settings.fields == FieldNames()
    assert settings.solr_cache == platformdirs.user_cache_path("whorl") / "solr"
    assert settings.api_keys == ()
    assert settings.login is None


def test_each_variable_sets_its_value() -> None:
    """
    Each variable sets its value; only the first colon separates user and password.
    """
    settings = Settings.load(
        {
            "WHORL_STORE": "http://localhost:8983/solr/whorl",
            "WHORL_SOLR_AUTH": "user:pass:word",
            "WHORL_TIMEOUT": "2.5",
            "WHORL_API_KEY": "key",
            "WHORL_SOLR_CACHE": "jars",
        }
    )
    assert settings == Settings(
        store="http://localhost:8983/solr/whorl",
        timeout_seconds=2.5,
        solr_auth=("user", "pass:word"),
        api_keys=("key",),
        solr_cache=Path("jars"),
    )


def test_empty_variables_are_unset() -> None:
    """
    An empty variable counts as unset, as in `WHORL_STORE= whorl …`.
    """
    names = ("STORE", "SOLR_AUTH", "TIMEOUT", "API_KEY", "CONFIG", "SOLR_CACHE")
    assert Settings.load({f"WHORL_{name}": "" for name in names}) == Settings.load({})


def test_each_entry_of_the_file_sets_its_value() -> None:
    """
    The file sets store, timeout and all fields of a collection.
    """
    settings = configured(
        'store = "notes"\ntimeout = 5\n[fields]\nminhash = "H"\ncontent = "text_en"\nname = "title"\n'
        'dbid = "NUMBER"\nnoderef = "REF"\n'
    )
    assert (settings.store, settings.timeout_seconds) == ("notes", 5)
    assert settings.fields == FieldNames("H", "text_en", "title", "NUMBER", "REF")


def test_names_of_fields_in_queries() -> None:
    """
    A field may have any name, quoted where TOML requires it.
    """
    settings = configured('[names]\n"cm:title" = "title_t"\nSITE = "site_s"')
    assert settings.names == {"cm:title": "title_t", "SITE": "site_s"}
    assert configured("").names == {}


def test_the_environment_wins() -> None:
    """
    The environment overrides the file, entry by entry.
    """
    Path("whorl.toml").write_text('store = "of-file"\ntimeout = 5', encoding="utf-8")
    settings = Settings.load({"WHORL_STORE": "of-environment"})
    assert (settings.store, settings.timeout_seconds) == ("of-environment", 5)


def test_another_file_can_be_named() -> None:
    """
    WHORL_CONFIG replaces ./whorl.toml.
    """
    Path("whorl.toml").write_text('store = "of-whorl.toml"', encoding="utf-8")
    Path("other.toml").write_text('store = "of-other"', encoding="utf-8")
    assert Settings.load({"WHORL_CONFIG": "other.toml"}).store == "of-other"


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "inf", "1e9", "ten", "1 s", "86400"])
def test_a_bad_timeout_is_named(seconds: str) -> None:
    """
    The message has the variable, its value, and the allowed values.
    """
    with pytest.raises(ParameterError, match=f"WHORL_TIMEOUT must be seconds.*'{seconds}'"):
        Settings.load({"WHORL_TIMEOUT": seconds})


@pytest.mark.parametrize("auth", ["user", ":password", "user password"])
def test_bad_credentials_are_named_and_not_shown(auth: str) -> None:
    """
    An invalid secret is an error that names the variable and hides the value.
    """
    with pytest.raises(ParameterError, match="WHORL_SOLR_AUTH must be user:password") as caught:
        Settings.load({"WHORL_SOLR_AUTH": auth})
    assert auth not in str(caught.value).replace("user:password", "")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("timeout = 0", "timeout must be seconds.*got 0"),
        ("timeout = true", "timeout must be seconds.*got True"),
        ("timeout = []", "timeout must be seconds"),
        (f"timeout = {'9' * 400}", "timeout must be seconds"),
        ("store = 5", "store must be the URL of a Solr collection or of an index, or a folder, got 5"),
        ("stroe = 'x'", r"there is no setting 'stroe'; did you mean 'store'\?"),
        (
            "timeout_seconds = 5",
            "there is no setting 'timeout_seconds'.*known are allowed_hosts, allowed_origins, api_key",
        ),
        ("config = 'x'", "there is no setting 'config'"),
        ("fields = 'x'", "fields must be a table from minhash, content, name, dbid, noderef"),
        ("names = 'x'", "names must be a table from names in queries to fields"),
        ("[names]\nSITE = 5", "names must be a table from names in queries to fields.*got {'SITE': 5}"),
        ("[names]\nSITE = ''", "names must be a table from names in queries"),
        ("[fields]\nminhsah = 'x'", "fields must be a table from minhash.*'minhsah'"),
        ("[fields]\nminhash = 5", "fields must be a table from minhash"),
        ("[fields]\nminhash = ''", "fields must be a table from minhash"),
        ("api_key = []\nopen = 'perhaps'", "open must be true or false, got 'perhaps'"),
        ("api_key = ['']", "api_key must be a key, or several"),
        ("api_key = [5]", "api_key must be a key, or several"),
        ("listen = 8000", "listen must be host:port"),
        ("max_rows = 10001", "max_rows must be a whole number, 100 to 10,000, got 10001"),
        ("max_rows = 99", "max_rows must be a whole number, 100 to 10,000, got 99"),
        ("max_rows = 1.5", "max_rows must be a whole number"),
        ("max_rows = true", "max_rows must be a whole number"),
        ("solr_ca = 'gone.pem'", "solr_ca must be a file that can be read, got 'gone.pem'"),
        ("solr_verify = 1", "solr_verify must be true or false"),
        ("store = ", "cannot be read"),
        ("store = 'a'\nstore = 'b'", "cannot be read"),
    ],
)
def test_a_bad_entry_is_named_with_its_file(text: str, named: str) -> None:
    """
    The message has the file, the entry, and the known entries.
    """
    with pytest.raises(ParameterError, match=f"whorl.toml.*{named}"):
        configured(text)


def test_a_binary_file_is_an_error() -> None:
    """
    A file that is not UTF-8 is an error message, not a traceback.
    """
    Path("whorl.toml").write_bytes(b"store = '\xff'")
    with pytest.raises(ParameterError, match=r"whorl.toml cannot be read.*utf-8"):
        Settings.load({})


def test_a_byte_order_mark_is_no_syntax_error() -> None:
    """
    A file saved by Windows' Notepad, with a byte order mark, is read.
    """
    Path("whorl.toml").write_text('store = "of-notepad"', encoding="utf-8-sig")
    assert Settings.load({}).store == "of-notepad"


def test_a_folder_named_like_the_file_is_an_error() -> None:
    """
    A folder whorl.toml is not ignored: its settings may be meant.
    """
    Path("whorl.toml").mkdir()
    with pytest.raises(ParameterError, match=r"whorl.toml cannot be read: .*directory"):
        Settings.load({})


@pytest.mark.parametrize("name", ["gone.toml", "."])
def test_a_named_file_must_exist(name: str) -> None:
    """
    A missing ./whorl.toml is allowed; a missing file of WHORL_CONFIG is an error.
    """
    with pytest.raises(ParameterError, match="WHORL_CONFIG: "):
        Settings.load({"WHORL_CONFIG": name})


def test_secrets_are_never_shown() -> None:
    """
    Neither repr nor str contain the passwords or the service's key.
    """
    settings = Settings.load(
        {
            "WHORL_STORE": "https://admin:s3cret@host:8983/solr/whorl",
            "WHORL_SOLR_AUTH": "admin:s3cret",
            "WHORL_API_KEY": "s3cret",
        }
    )
    shown = f"{settings!r} {settings} {[settings]}"
    assert "s3cret" not in shown
    assert "https://host:8983/solr/whorl" in shown


def test_a_user_has_a_password() -> None:
    """
    User and password come from the environment or the file, the environment first; a missing one, or a name with a
    colon, is an error.
    """
    assert Settings.load({}).login is None
    assert Settings.load({"WHORL_USER": "ann", "WHORL_PASSWORD": "a:b"}).login == ("ann", "a:b")
    for wrong in ({"WHORL_USER": "a:b"}, {"WHORL_USER": "a:b", "WHORL_PASSWORD": "c"}):
        with pytest.raises(ParameterError, match="WHORL_USER"):
            Settings.load(wrong)
    Path("whorl.toml").write_text('user = "ann"\npassword = "pw"', encoding="utf-8")
    named = {"WHORL_CONFIG": "whorl.toml"}
    assert Settings.load(named).login == ("ann", "pw")
    assert Settings.load({**named, "WHORL_PASSWORD": "other"}).login == ("ann", "other")
    for config in ('user = "ann"', 'password = "pw"'):
        Path("whorl.toml").write_text(config, encoding="utf-8")
        with pytest.raises(ParameterError, match="WHORL_USER"):
            Settings.load(named)
    with pytest.raises(ParameterError, match="user must be a name without a colon, together with a password, got 1"):
        configured("user = 1\npassword = 2")


def test_lists_in_variables_and_in_the_file() -> None:
    """
    A list has commas in a variable and is a TOML list in the file; a single value is accepted in both.
    """
    assert Settings.load({"WHORL_API_KEY": "old, new"}).api_keys == ("old", "new")
    for config, keys in (('["old", "with, comma"]', ("old", "with, comma")), ('"one"', ("one",))):
        Path("whorl.toml").write_text(f"api_key = {config}", encoding="utf-8")
        assert Settings.load({"WHORL_CONFIG": "whorl.toml"}).api_keys == keys


def test_a_variable_with_a_typing_error() -> None:
    """
    A misspelt variable is an error that names the right one; variables without whorl's prefix and empty ones are
    ignored.
    """
    with pytest.raises(ParameterError, match=r"there is no setting WHORL_MAX_ROW; did you mean 'WHORL_MAX_ROWS'\?"):
        Settings.load({"WHORL_MAX_ROW": "5"})
    with pytest.raises(ParameterError, match=r"there is no setting WHORL_QQQQQQ; docs/settings\.md lists"):
        Settings.load({"WHORL_QQQQQQ": "x"})
    assert Settings.load({"WHORLED": "x", "MAX_ROW": "5", "WHORL_MAX_ROW": ""}) == Settings()


def test_variables_of_the_tests_are_ignored() -> None:
    """
    Variables of the tests' own modules are ignored, although they have whorl's prefix.
    """
    sources = [path.read_text(encoding="utf-8") for path in Path(__file__).parents[1].rglob("*.py")]
    named = {name for text in sources for name in re.findall(r'^[A-Z_]+ = "(WHORL_[A-Z_]+)"', text, re.MULTILINE)}
    assert named
    assert Settings.load(dict.fromkeys(named, "1")) == Settings()


def test_variables_of_kubernetes_are_ignored() -> None:
    """
    Variables that Kubernetes sets for services called whorl and whorl-solr in every container are ignored.
    """
    links = {
        "WHORL_SERVICE_HOST": "10.0.0.7",
        "WHORL_SERVICE_PORT": "8000",
        "WHORL_SERVICE_PORT_HTTP": "8000",
        "WHORL_PORT": "tcp://10.0.0.7:8000",
        "WHORL_PORT_8000_TCP": "tcp://10.0.0.7:8000",
        "WHORL_PORT_8000_TCP_PROTO": "tcp",
        "WHORL_PORT_8000_TCP_PORT": "8000",
        "WHORL_PORT_8000_TCP_ADDR": "10.0.0.7",
        "WHORL_SOLR_SERVICE_HOST": "10.0.0.8",
        "WHORL_SOLR_PORT_8983_TCP_ADDR": "10.0.0.8",
    }
    assert Settings.load(links) == Settings()
    with pytest.raises(ParameterError, match="there is no setting WHORL_PORT"):
        Settings.load({"WHORL_PORT": "9000"})


@pytest.mark.parametrize("setting", all_settings(), ids=lambda setting: setting.key)
def test_every_setting_is_in_the_documentation(setting: Setting) -> None:
    """
    The documentation lists every setting with its name in the file, its variable, default, type and meaning, as in the
    code.
    """
    variable = f"`{setting.variable}`" if setting.variable else "–"
    default = f"`{setting.shown}`" if re.fullmatch(r"[\w.:]+", setting.shown.replace(",", "")) else setting.shown
    row = f"| `{setting.key}` | {variable} | {default} | {setting.type.allowed} | {setting.meaning} |"
    section = re.search(rf"^## {re.escape(setting.section)}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert section is not None
    assert row in section[1].splitlines(), row


def test_the_documentation_has_no_other_settings() -> None:
    """
    The documentation lists no setting that the code does not read.
    """
    keys = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(keys) == sorted(setting.key for setting in all_settings())
    known = {setting.variable for setting in all_settings()} | {"WHORL_CONFIG"}
    assert set(re.findall(r"\bWHORL_[A-Z_]+", PAGE)) <= known


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("open = true", "open"),
        ('listen = "0.0.0.0:8000"', "listen"),
        ('listen = "192.0.2.1:8000"', "listen"),
        ('api_key = "known-to-the-author"', "api_key"),
        ('user = "mallory"\npassword = "pw"', "user"),
        ('allowed_hosts = ["evil.example"]', "allowed_hosts"),
        ('allowed_origins = ["https://evil.example"]', "allowed_origins"),
        ('solr_cache = "jars"', "solr_cache"),
        ('opensearch_cache = "jars"', "opensearch_cache"),
        ("solr_verify = false", "solr_verify"),
        ('opensearch_ca = "whorl.toml"', "opensearch_ca"),
    ],
)
def test_file_of_the_working_directory_is_not_trusted(line: str, key: str) -> None:
    """
    A whorl.toml in the working directory cannot open the service or choose programs and servers; a named file can.
    """
    with pytest.raises(ParameterError, match=f"whorl.toml: {key} .*whorl --config"):
        configured(line)
    assert Settings.load({"WHORL_CONFIG": "whorl.toml"}) != Settings()


def test_harmless_settings_of_the_working_directory() -> None:
    """
    Settings that expose nothing, such as listening on this machine or a closed service, are accepted in the working
    directory.
    """
    settings = configured('open = false\nlisten = "127.0.0.1:9000"\nallowed_origins = []')
    assert settings.listen == ("127.0.0.1", 9000)


@pytest.mark.parametrize("secret", ["WHORL_SOLR_AUTH", "WHORL_OPENSEARCH_AUTH", "WHORL_OPENSEARCH_API_KEY"])
@pytest.mark.parametrize("store", ["https://evil.example/solr/docs", "opensearch+http://evil.example/docs"])
def test_credentials_of_the_environment_go_to_no_server_of_a_folder(secret: str, store: str) -> None:
    """
    The working directory's file may name a server, or the environment may have credentials, but not both.
    """
    assert configured(f'store = "{store}"').store == store
    with pytest.raises(ParameterError, match=f"store names a server, which would receive {secret}"):
        Settings.load({secret: "user:secret"})
    assert Settings.load({secret: "user:secret", "WHORL_CONFIG": "whorl.toml"}).store == store
    assert Settings.load({secret: "user:secret", "WHORL_STORE": "https://own.example/solr/docs"}).solr_verify


SERVER = "https://own.example/solr/docs"


def test_a_file_for_later_commands() -> None:
    """
    The written file has the store and the names that differ from whorl's defaults; a second run changes nothing, and an
    existing file is never overwritten.
    """
    names = FieldNames(content='bo"dy', name="título")
    assert write_file(SERVER, names, dry_run=True).startswith("would write ")
    assert not Path("whorl.toml").exists()
    assert write_file(SERVER, names).startswith(f"wrote {Path('whorl.toml').absolute()}, ")
    written = Path("whorl.toml").read_text("utf-8")
    assert tomllib.loads(written) == {"store": SERVER, "fields": {"content": 'bo"dy', "name": "título"}}
    settings = Settings.load()
    assert (settings.store, settings.fields) == (SERVER, names)
    assert write_file(SERVER, names) == ""
    other = write_file("https://other.example/solr/docs", FieldNames(content="text"))
    assert other.startswith("whorl.toml stays as it is; later commands need this in it:\nstore = ")
    assert Path("whorl.toml").read_text("utf-8") == written


@pytest.mark.parametrize("secret", ["WHORL_SOLR_AUTH", "WHORL_OPENSEARCH_AUTH", "WHORL_OPENSEARCH_API_KEY"])
def test_a_written_file_names_no_server_that_gets_credentials(secret: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    With credentials in the environment the file only has the names, which the next command accepts.
    """
    monkeypatch.setenv(secret, "user:secret")
    line = write_file(SERVER, FieldNames(content="body"))
    assert "name the server with --store or WHORL_STORE" in line
    assert f"who gets {secret}" in line
    assert tomllib.loads(Path("whorl.toml").read_text("utf-8")) == {"fields": {"content": "body"}}
    assert Settings.load().fields.content == "body"


def test_a_written_file_has_no_password() -> None:
    """
    An address with a password is not written.
    """
    line = write_file("https://ann:s3cr3t@own.example/solr/docs", FieldNames(content="body"))
    assert "the password of the address" in line
    assert "s3cr3t" not in line + Path("whorl.toml").read_text("utf-8")


def test_a_file_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """
    If the file cannot be written, the printed line has its contents.
    """
    folder = tmp_path / "gone"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert f'store = "{SERVER}"' in write_file(SERVER, FieldNames())


@pytest.mark.parametrize(
    ("given", "address"),
    [("0.0.0.0:80", ("0.0.0.0", 80)), ("[::1]:0", ("::1", 0)), ("example.org:65535", ("example.org", 65_535))],
)
def test_addresses(given: str, address: tuple[str, int]) -> None:
    """
    An address is a host and a port; an IPv6 address loses its brackets.
    """
    assert Settings.load({"WHORL_LISTEN": given}).listen == address


@pytest.mark.parametrize("given", ["8000", ":8000", "::1:8000", "localhost", "localhost:65536", "a:b", "http://a:80"])
def test_ambiguous_addresses_are_refused(given: str) -> None:
    """
    An ambiguous address is an error.
    """
    with pytest.raises(ParameterError, match="WHORL_LISTEN must be host:port, an IPv6 address in brackets"):
        Settings.load({"WHORL_LISTEN": given})


@pytest.mark.parametrize("given", ["true", "Yes", "1", "on"])
def test_flags_in_variables(given: str) -> None:
    """
    A flag accepts the usual words for true and false.
    """
    assert Settings.load({"WHORL_OPEN": given}).is_open
    opposite = {"true": "false", "Yes": "no", "1": "0", "on": "off"}[given]
    assert not Settings.load({"WHORL_SOLR_VERIFY": opposite}).solr_verify


def test_leading_zeros_change_no_number() -> None:
    """
    Any number of leading zeros leaves a number unchanged.
    """
    assert Settings.load({"WHORL_MAX_WAITING": "0" * 30 + "25"}).max_waiting == 25
    assert Settings.load({"WHORL_MAX_WAITING": "0" * 30}).max_waiting == 0


class Refused:
    """Marker of a ValueError, which becomes an error message of the setting."""


def read(kind: ValueType, given: object) -> object:
    try:
        return kind.read(given)
    except ValueError:
        return Refused


FIVE = integer(1, 5)
READ: list[tuple[ValueType, object, object]] = [
    (text("words"), "a b", "a b"),
    (text("words"), "", Refused),
    (text("words"), 5, Refused),
    (texts("a key"), " a ,b", ("a", "b")),
    (texts("a key"), ["a, b ", "c"], ("a, b", "c")),
    (texts("a key"), [], ()),
    (texts("a key"), "", Refused),
    (texts("a key"), "a,,b", Refused),
    (texts("a key"), ["a", 5], Refused),
    (texts("a key"), {"a": "b"}, Refused),
    (FIVE, "0005", 5),
    (FIVE, 5, 5),
    (FIVE, "6", Refused),
    (FIVE, "0", Refused),
    (FIVE, "-1", Refused),
    (FIVE, "+1", Refused),
    (FIVE, " 1", Refused),
    (FIVE, "1.0", Refused),
    (FIVE, 1.0, Refused),
    (FIVE, True, Refused),
    (FIVE, "５", Refused),
    (FIVE, "9" * 5_000, Refused),
    (integer(0, 10**6), "1_000", 1000),
    (integer(0, 10**6), "1__000", Refused),
    (integer(0, 10**6), "1_", Refused),
    (SECONDS, "0.5", 0.5),
    (SECONDS, 5, 5.0),
    (SECONDS, True, Refused),
    (SECONDS, 0, Refused),
    (SECONDS, "nan", Refused),
    (SECONDS, 86_399.9, 86_399.9),
    (SECONDS, 10**400, Refused),
    (SECONDS, None, Refused),
    (FLAG, "OFF", False),
    (FLAG, True, True),
    (FLAG, 1, Refused),
    (FLAG, "y", Refused),
    (FOLDER, "not/there", Path("not/there")),
    (FOLDER, "", Refused),
    (FILE, __file__, Path(__file__)),
    (FILE, str(Path(__file__).parent), Refused),
    (FILE, "not/there", Refused),
    (LOGIN, "user:pass:word", ("user", "pass:word")),
    (LOGIN, "user:", ("user", "")),
    (LOGIN, ":password", Refused),
    (LOGIN, "user", Refused),
    (ADDRESS, "[::1]:0", ("::1", 0)),
    (ADDRESS, "host:65536", Refused),
    (ADDRESS, "[host]:80", Refused),
    (ADDRESS, "host:٨٠", Refused),
    (ADDRESS, 80, Refused),
    (FIELDS, {"content": "text_en"}, FieldNames(content="text_en")),
    (FIELDS, {"text": "x"}, Refused),
    (FIELDS, {"content": ""}, Refused),
    (FIELDS, "content", Refused),
    (NAMES, {"cm:title": "title", "": "x"}, {"cm:title": "title", "": "x"}),
    (NAMES, {"a": 5}, Refused),
    (NAMES, [], Refused),
]


@pytest.mark.parametrize(("kind", "given", "value"), READ)
def test_values_are_read_or_refused(kind: ValueType, given: object, value: object) -> None:
    """
    An ambiguous value is refused, never guessed.
    """
    result = read(kind, given)
    assert (result, type(result)) == (value, type(value))


@hypothesis.given(st.integers(0, 10**18), st.integers(0, 10**18), st.integers(0, 10**19), st.integers(0, 30))
def test_range_of_whole_numbers(one: int, other: int, number: int, zeros: int) -> None:
    """
    Whole numbers within the range are accepted from a file or as text, with any number of leading zeros.
    """
    least, most = sorted((one, other))
    kind = integer(least, most)
    value = number if least <= number <= most else Refused
    assert read(kind, number) == read(kind, "0" * zeros + str(number)) == value


@pytest.mark.parametrize("kind", {kind.read: kind for kind, _, _ in READ}.values(), ids=lambda kind: kind.allowed)
@hypothesis.given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda one: st.lists(one) | st.dictionaries(st.text(), one),
        max_leaves=5,
    )
)
def test_reading_raises_only_value_errors(kind: ValueType, given: object) -> None:
    """
    Reading raises only ValueError, whatever value a file has.
    """
    read(kind, given)
    assert kind.allowed


def test_a_file_name_that_is_too_long() -> None:
    """
    A name over the file system's limit is refused like that of a missing file.
    """
    kinds = {kind.read: kind for kind, _, _ in READ}.values()
    (a_file,) = [kind for kind in kinds if kind.allowed.startswith("a file")]
    assert read(a_file, "x" * 10_000) is Refused
