"""Lean's own elaborator and kernel, called as functions of the shared library.

The core library is imported once (10 ms); each text is then elaborated from that state, command by command in the
calling thread, exactly as Lean's ``Frontend`` does. Afterwards three things are asked of the resulting environment
itself, not of anything that the text printed: does the theorem exist, which axioms does it rest on, and does the
kernel accept every declaration of the text once more, starting from the imported library (so switching the kernel off
in the text is no use).
"""

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kimina.lean.embedded.info_tree import InfoTreeReader
from kimina.lean.embedded.objects import (
    Lean,
    LeanError,
    box,
    field,
    is_boxed,
    items,
    read_name,
    read_string,
    share,
    tag,
)

_WORD = ctypes.c_void_p
_FLAG = ctypes.c_uint8
_ENVIRONMENT, _MESSAGES, _SCOPES, _INFO, _STATE_FIELDS = 0, 1, 2, 8, 13
"""Positions in ``Lean.Elab.Command.State``, and how many fields it has."""
_INFO_TREES = 2
"""Position in ``Lean.Elab.InfoState``."""
_SCOPE_PARSER_FIELDS = (1, 2, 3)
"""Options, current namespace and open declarations in ``Lean.Elab.Command.Scope``."""
_KINDS = ("axiom", "definition", "theorem", "opaque", "quotient", "inductive", "constructor", "recursor")
"""The constructors of ``Lean.ConstantInfo`` in order."""


@dataclass(frozen=True)
class Elaboration:
    """What became of a text. ``messages`` are Lean's own JSON objects; ``kind`` is the kind of declaration that the
    text makes under the asked name (``None``: it makes none); ``kernel`` is the kernel's objection to the text's
    declarations, if any."""

    messages: list[str]
    kind: str | None
    axioms: list[str] | None
    kernel: str | None


@dataclass(frozen=True)
class Continuation:
    """What Lean says about a text that follows others. ``messages`` are Lean's own JSON objects; ``sorries`` and
    ``tactics`` have the shape of Lean's REPL (``tactics`` is ``None`` when they were not asked for)."""

    messages: list[str]
    sorries: list[dict[str, Any]]
    tactics: list[dict[str, Any]] | None


class Elaborator:
    """The library in ``folder`` imported, and ``header`` elaborated on top of it. One per process."""

    def __init__(self, library: str, folder: str, module: str, header: str) -> None:
        lean = self._lean = Lean(library)
        # Lean starts its runtime and its modules; imports may run initialisers, as with the lean command.
        lean.function("lean_initialize", returns=None)()
        lean.value(
            lean.function("l_Lean_initSearchPath", _WORD, _WORD)(
                lean.string("/nonexistent"), lean.list([lean.string(folder)])
            )
        )
        lean.function("lean_enable_initializer_execution")()
        lean.function("lean_io_mark_end_initialization", returns=None)()
        self._start_tasks = lean.function("lean_init_task_manager_using", ctypes.c_uint, returns=None)
        self._make_input = lean.function("l_Lean_Parser_mkInputContext___redArg", _WORD, _WORD, _FLAG, _WORD)
        self._make_reference = lean.function("lean_st_mk_ref", _WORD)
        self._read_reference = lean.function("lean_st_ref_get", _WORD)
        self._parse_command = lean.function("l_Lean_Parser_parseCommand", _WORD, _WORD, _WORD, _WORD)
        self._is_last = lean.function("l_Lean_Parser_isTerminalCommand", _WORD, returns=_FLAG)
        self._elaborate_command = lean.function("l_Lean_Elab_Frontend_elabCommandAtFrontend", _WORD, _WORD, _WORD)
        self._list_messages = lean.function("l_Lean_MessageLog_toArray", _WORD)
        self._message_json = lean.function("l_Lean_Message_toJson", _WORD)
        self._json_text = lean.function("l_Lean_Json_compress", _WORD)
        self._find = lean.function("l_Lean_Environment_find_x3f", _WORD, _WORD, _FLAG)
        self._collect_axioms = lean.function(
            "l_Lean_collectAxioms___at___00__private_Lean_Elab_Print_0__Lean_Elab_Command_printAxiomsOf_spec__0___redArg",
            _WORD,
            _WORD,
        )
        self._kernel_environment = lean.function("lean_elab_environment_to_kernel_env", _WORD)
        self._replay = lean.function("l_Lean_Environment_replay", _WORD, _WORD)
        self._start_tasks(1)
        self._environment = self._import(module)
        make_state = lean.function("l_Lean_Elab_Command_mkState", _WORD, _WORD, _WORD)
        start = make_state(
            share(self._environment), lean.constant("l_Lean_MessageLog_empty"), lean.constant("l_Lean_Options_empty")
        )
        self._state, complaints = self._run(start, header)
        if complaints:
            raise LeanError(f"the header is not accepted: {complaints}")

    def elaborate(self, text: str, theorem: list[str]) -> Elaboration:
        """Elaborate ``text`` behind the header and examine ``theorem`` (components of its full name).

        To be called once, in a forked process: the task threads of the original did not survive the fork.
        """
        self._start_tasks(1)
        state, messages = self._run(share(self._state), text)
        environment = field(state, _ENVIRONMENT)
        name = self._lean.name(theorem)
        found = self._find(share(environment), share(name), 0)
        inherited = not is_boxed(self._find(share(self._environment), share(name), 0))
        if is_boxed(found) or inherited:
            return Elaboration(messages, None, None, None)
        kind = _KINDS[tag(field(found, 0))]
        outcome = self._collect_axioms(name, self._make_reference(share(state)))
        axioms = [read_name(axiom) for axiom in items(self._lean.value(outcome))]
        return Elaboration(messages, kind, axioms, self._kernel_objection(environment))

    def continue_from(self, before: Sequence[str], text: str, *, with_tactics: bool = False) -> Continuation:
        """Elaborate ``text`` in the state to which the texts ``before`` lead from the header, and examine nothing.

        To be called once, in a forked process. Each text is read by itself, so one that ends within a command does not
        run on into the next; namespaces, sections, options and open declarations do carry over.
        """
        self._start_tasks(1)
        state = share(self._state)
        for earlier in before:
            state, _ = self._run(state, earlier)
        trees: list[int] = []
        _, messages = self._run(state, text, trees)
        reader = InfoTreeReader(self._lean, text)
        # Trees are large. A sorry that stands in this text, or that a notation of an earlier one hides, is spelled out.
        spelled_out = any("sorry" in part for part in (text, *before))
        sorries = reader.sorries(trees) if spelled_out else []
        return Continuation(messages, sorries, reader.tactics(trees) if with_tactics else None)

    def enter_thread(self) -> None:
        """Prepare the calling thread for Lean; needed in every thread but the one that made this object."""
        self._lean.function("lean_initialize_thread", returns=None)()

    def _import(self, module: str) -> int:
        lean = self._lean
        import_modules = lean.function(
            "l_Lean_importModules", _WORD, _WORD, ctypes.c_uint32, _WORD, _FLAG, _FLAG, _FLAG, _WORD
        )
        # Import's flags importAll, isExported, isMeta; then trust level 0 (check everything), no plugins, keep the
        # environment for the life of the process, load extensions, read all data of the module, no artifact map.
        wanted = lean.constructor(0, lean.name([module]), scalars=b"\0\1\0")
        options = lean.constant("l_Lean_Options_empty")
        return lean.value(import_modules(lean.array([wanted]), options, 0, lean.array([]), 1, 1, 2, box(1)))

    def _run(self, state: int, text: str, trees: list[int] | None = None) -> tuple[int, list[str]]:
        """Parse and elaborate every command of ``text``; return the last command state and all messages in order.

        Each command's info trees (a persistent array) are added to ``trees`` where one is given.
        """
        lean = self._lean
        size = len(text.encode("utf-8"))
        source = self._make_input(lean.string(text), lean.string("input"), 1, box(size))
        position = lean.constant("l_Lean_Parser_instInhabitedModuleParserState_default")
        no_messages = lean.constant("l_Lean_MessageLog_empty")
        messages: list[str] = []
        while True:
            scope = field(field(state, _SCOPES), 0)
            options, namespace, opened = (field(scope, index) for index in _SCOPE_PARSER_FIELDS)
            context = [share(part) for part in (field(state, _ENVIRONMENT), options, namespace, opened)]
            parsed = self._parse_command(share(source), lean.constructor(0, *context), share(position), no_messages)
            command, (position, complaints) = field(parsed, 0), (field(field(parsed, 1), index) for index in (0, 1))
            objections = self._read_messages(complaints)
            messages += objections
            last = self._is_last(share(command))
            fields = [share(field(state, index)) for index in range(_STATE_FIELDS)]
            fields[_MESSAGES] = no_messages
            frontend = lean.constructor(0, lean.constructor(0, *fields), share(position), box(0), lean.array([]))
            reference = self._make_reference(frontend)
            lean.value(self._elaborate_command(share(command), share(source), share(reference)))
            state = field(self._read_reference(reference), 0)
            if trees is not None:
                trees.append(field(field(state, _INFO), _INFO_TREES))
            # What Lean says on the remains of a command that it could not read only misleads.
            if not objections:
                messages += self._read_messages(field(state, _MESSAGES))
            # The end of the text, #exit, or an import that stands too late: Lean reads no further.
            if last:
                return state, messages

    def _read_messages(self, log: int) -> list[str]:
        return [
            read_string(self._json_text(self._message_json(share(message))))
            for message in items(self._list_messages(share(log)))
        ]

    def _kernel_objection(self, environment: int) -> str | None:
        constants = field(self._kernel_environment(share(environment)), 0)
        added = _entries(field(constants, 1))
        bucket = box(0)
        for name, info in added:
            bucket = self._lean.constructor(1, share(name), share(info), bucket)
        # A hash map with a single bucket needs no hashing here.
        added_map = self._lean.constructor(0, box(len(added)), self._lean.array([bucket]))
        try:
            self._lean.value(self._replay(added_map, share(self._environment)))
        except LeanError as objection:
            return str(objection)
        return None


def _entries(node: int) -> list[tuple[int, int]]:
    """Keys and values of a ``Lean.PersistentHashMap`` node."""
    if tag(node) == 1:  # keys that share a hash
        return list(zip(items(field(node, 0)), items(field(node, 1)), strict=True))
    found: list[tuple[int, int]] = []
    for entry in items(field(node, 0)):
        if not is_boxed(entry):
            found += [(field(entry, 0), field(entry, 1))] if tag(entry) == 0 else _entries(field(entry, 0))
    return found
