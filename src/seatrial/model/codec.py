"""Plain values as JSON: a NamedTuple becomes an object of its fields, and a field with its default value is left out.
`from_earlier` of a class converts JSON of its earlier forms; `json_keys` gives fields a key other than their name."""

from functools import lru_cache, partial
from typing import Any, Callable, Dict, FrozenSet, List, NamedTuple, Tuple, Type, TypeVar, Union, get_type_hints

T = TypeVar('T')


class FormError(ValueError):
    """JSON that does not have the form of the expected type; the message names the key."""


def to_json(value: Any) -> Any:
    kind = type(value)
    if kind in _PLAIN:
        return value
    if hasattr(kind, '_fields'):
        form = _form_of(kind)
        fields = zip(form.fields, value, form.defaults)
        return {key: to_json(item) for key, item, default in fields if item is not default and item != default}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return value


def from_json(kind: Type[T], data: Any) -> T:
    """Reads JSON data as a value of type `kind`. Raises FormError for unknown or missing keys and wrong types."""
    wanted: Any = kind
    value: T = _reader_of(wanted)(data, ())
    return value


_PLAIN = frozenset((str, int, float, bool, type(None)))
_NO_DEFAULT = object()


class _Form(NamedTuple):
    """The JSON form of a class, kept because every line of a record needs it."""

    fields: Dict[str, str]  # the field of each key, in the order of the fields
    readers: Dict[str, Tuple[Any, Callable[[Any, Any], Any]]]  # the type of each key, and the function that reads it
    defaults: Tuple[Any, ...]  # the default of each field, in their order
    needed: FrozenSet[str]  # keys of fields without a default
    from_earlier: Any  # the function that converts JSON of earlier forms; None if there are none


_FORMS: Dict[Any, _Form] = {}


def _form_of(kind: Any) -> _Form:
    if kind not in _FORMS:
        defaults, hints = getattr(kind, '_field_defaults', {}), get_type_hints(kind)
        keys: Dict[str, str] = getattr(kind, 'json_keys', dict)()
        fields = {keys.get(name, name): name for name in kind._fields}
        readers = {key: (hints[name], _reader_of(hints[name])) for key, name in fields.items()}
        in_order = tuple(defaults.get(name, _NO_DEFAULT) for name in kind._fields)
        needed = frozenset(key for key, name in fields.items() if name not in defaults)
        _FORMS[kind] = _Form(fields, readers, in_order, needed, getattr(kind, 'from_earlier', None))
    return _FORMS[kind]


@lru_cache(maxsize=None)
def _reader_of(kind: Any) -> Callable[[Any, Any], Any]:
    """The function that reads data of a type; its arguments are the data and (outer place, key), or () at the top."""
    if kind is Any:
        return lambda data, where: data
    if hasattr(kind, '_fields'):
        return lambda data, where: _decode_fields(kind, data, where)
    origin, arguments = getattr(kind, '__origin__', None), getattr(kind, '__args__', ())  # type: Any, Any
    if origin is Union:  # an Optional: no other Union is used
        read = _reader_of(arguments[0])
        return lambda data, where: None if data is None else read(data, where)
    if origin in (list, List, tuple, Tuple):
        return partial(_decode_list, list if origin in (list, List) else tuple, _reader_of(arguments[0]))
    if origin in (dict, Dict):
        return partial(_decode_dict, _reader_of(arguments[1]))
    return partial(_decode_plain, kind)


def _decode_list(container: Any, read: Any, data: Any, where: Any) -> Any:
    if not isinstance(data, list):
        raise FormError(f'{_place(where)}: a list is expected, not {_type_name(data)}')
    return container([read(item, (where, i)) for i, item in enumerate(data)])


def _decode_dict(read: Any, data: Any, where: Any) -> Any:
    if not isinstance(data, dict):
        raise FormError(f'{_place(where)}: an object is expected, not {_type_name(data)}')
    return {key: read(item, (where, key)) for key, item in data.items()}


def _decode_plain(kind: Any, data: Any, where: Any) -> Any:
    if type(data) is kind:
        return data
    if kind is float and type(data) is int:
        return float(data)
    raise FormError(f'{_place(where)}: {kind.__name__} is expected, not {_type_name(data)}')


def _decode_fields(kind: Any, data: Any, where: Any) -> Any:
    if type(data) is kind:
        return data
    if not isinstance(data, dict):
        raise FormError(f'{_place(where) or kind.__name__}: an object is expected, not {_type_name(data)}')
    fields, readers, _, needed, from_earlier = _form_of(kind)
    if from_earlier is not None:
        data = from_earlier(data)
    if not data.keys() <= readers.keys():
        raise FormError(f'{_place((where, min(data.keys() - readers.keys())))}: no such key in {kind.__name__}')
    if not needed <= data.keys():
        raise FormError(f'{_place((where, min(needed - data.keys())))}: missing from {kind.__name__}')
    values = {}
    for key, item in data.items():
        hint, read = readers[key]
        values[fields[key]] = item if type(item) is hint else read(item, (where, key))
    return kind(**values)


def _place(where: Any) -> str:
    """A place as text: 'several[0].share'."""
    if not where:
        return ''
    outer, key = _place(where[0]), where[1]
    if isinstance(key, int):
        return f'{outer}[{key}]'
    return f'{outer}.{key}' if outer else key


def _type_name(data: Any) -> str:
    return 'null' if data is None else type(data).__name__
