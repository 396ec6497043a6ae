"""Each contract has one home (homes.toml), and no second copy that looks like it; known copies stand in known.toml."""

import pytest
from known import complaints, read_known
from rules_homes import Homes, read_homes, second_copies, stale_entries
from source_tree import Offence, Tree


@pytest.fixture(scope="module")
def tree() -> Tree:
    return Tree.read()


@pytest.fixture(scope="module")
def homes() -> Homes:
    return read_homes()


def test_no_contract_stands_twice(tree: Tree, homes: Homes) -> None:
    known = [entry for entry in read_known() if entry.rule == "home"]
    found = complaints(second_copies(tree, homes), known)
    assert not found, "\n" + "\n".join(found)


def test_the_table_says_what_is(tree: Tree, homes: Homes) -> None:
    found = [str(offence) for offence in stale_entries(tree, homes)]
    assert not found, "\n" + "\n".join(found)


@pytest.fixture(scope="module")
def before(tree: Tree, homes: Homes) -> list[Offence]:
    return list(second_copies(tree, homes))


PLANTED = [
    ("cli/commands/queue.cc", 'if (word == "extreme_high") return 9;', "words of the rows' enums"),
    ("cli/commands/queue.cc", 'case StatusCode::kNotFound: return "FAILED_PRECONDITION";', "names of status codes"),
    ("nodeagent/sync/wire.cc", 'if (unit == "ms") return 1;', "durations as text"),
    ("scheduler/server/server.cc", "while ((byte & 0xC0) == 0x80) --end;", "UTF-8"),
    ("scheduler/server/server.cc", "if (c < 0x20 || c == 0x7f) c = '?';", "printable text"),
    ("scheduler/server/server.cc", "::rename(temporary.c_str(), path.c_str());", "atomic writing of a file"),
    ("cli/rpc/client.cc", "::close(fd);", "closing a descriptor"),
    ("sdk/checkpoint/replica/replica.h", "ucp_init(&params, config, &context);", "opening of UCX"),
    ("scheduler/server/config.cc", "const YAML::Node node = YAML::Load(text);", "reading of YAML"),
    ("sdk/checkpoint/save/saver.cc", 'if (name == "bf16") return 2;', "element types"),
    ("scheduler/server/server.cc", "case FieldDescriptor::CPPTYPE_INT64: break;", "JSON of the protocol's messages"),
    ("scheduler/policy/policy_file.cc", 'constexpr char kDigits[] = "0123456789abcdef";', "hex digits"),
    ("scheduler/server/agents/agent_hub.cc", "std::random_device random;", "randomness from the system"),
    ("sdk/checkpoint/io/read_plan.cc", "value |= std::uint64_t{byte} << (8 * i);", "little-endian numbers"),
    ("cli/commands/queue.cc", 'std::getenv("GLIM_RANK");', "the task's environment, read"),
    ("sdk/python/glim/session.py", "os.replace(temporary, path)", "atomic writing of a file in Python"),
    ("sdk/python/glim/session.py", 'rank = os.environ["GLIM_RANK"]', "the task's environment in Python"),
]


@pytest.mark.parametrize("path, line, contract", PLANTED)
def test_a_second_copy_is_found(
    tree: Tree, homes: Homes, before: list[Offence], path: str, line: str, contract: str
) -> None:
    planted = tree.with_file(path, tree.text(path) + line + "\n")
    [offence] = [o for o in second_copies(planted, homes) if o not in before]
    assert offence.file == path and offence.line == len(tree.files[path].lines)
    assert offence.what.startswith(f"{contract}: a second copy beside ") and offence.mend


def test_a_copy_in_a_comment_or_a_test_is_none(tree: Tree, homes: Homes, before: list[Offence]) -> None:
    path = "cli/commands/queue.cc"
    planted = tree.with_file(path, tree.text(path) + "// ::close(fd) is UniqueFd's\n")
    planted = planted.with_file("cli/commands/more_test.cc", "::close(fd);\n")
    assert list(second_copies(planted, homes)) == before


def test_a_stale_table_is_found(tree: Tree, homes: Homes) -> None:
    moved = tree.without("sdk/io/unique_fd.h")
    assert any("unique_fd.h is not there" in o.what for o in stale_entries(moved, homes))
    mended = tree.with_file("nodeagent/programs/init/main.cc", "int main() {}\n")
    assert any("init/main.cc is no exception any more" in o.what for o in stale_entries(mended, homes))
