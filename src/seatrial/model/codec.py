"""The JSON form of the plain values: a NamedTuple is an object whose keys are its fields.

A field that is as its class has it by default can be left out.
"""

from typing import Any, Dict, List, Tuple, Type, TypeVar, Union, get_type_hints

T = TypeVar('T')


class FormError(ValueError):
    """JSON that does not have the form of the value it should be; the message names the key."""


def to_json(value: Any) -> Any:
    """The value ready for json.dumps: a NamedTuple as a dict, without the fields that are as by default.

    What it gives for a value stays the same when its class gets another field later.
    """
    if hasattr(value, '_asdict'):
        defaults = getattr(type(value), '_field_defaults', {})
        own = ((name, getattr(value, name)) for name in value._fields)
        return {name: to_json(item) for name, item in own if name not in defaults or item != defaults[name]}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {key: to_json(item) for key, item in value.items()}
    return value


def from_json(kind: Type[T], data: Any, where: str = '') -> T:
    """The value of type `kind` written in `data`. Unknown or missing keys and wrong types raise FormError."""
    if not isinstance(data, dict):
        raise FormError(f'{where or kind.__name__}: an object is expected, not {_name(data)}')
    hints, defaults = _hints_of(kind), getattr(kind, '_field_defaults', {})
    unknown = sorted(set(data) - set(hints))
    if unknown:
        raise FormError(f'{_at(where, unknown[0])}: no such key in {kind.__name__}')
    missing = sorted(set(hints) - set(data) - set(defaults))
    if missing:
        raise FormError(f'{_at(where, missing[0])}: missing from {kind.__name__}')
    return kind(**{key: _decode(hints[key], item, _at(where, key)) for key, item in data.items()})


_HINTS: Dict[Any, Dict[str, Any]] = {}  # of each class once: they are asked for by every line of a record


def _hints_of(kind: Any) -> Dict[str, Any]:
    if kind not in _HINTS:
        _HINTS[kind] = get_type_hints(kind)
    return _HINTS[kind]


def _decode(kind: Any, data: Any, where: str) -> Any:
    origin, arguments = getattr(kind, '__origin__', None), getattr(kind, '__args__', ())  # type: Any, Any
    if kind is Any:
        return data
    if origin is Union:  # an Optional: no value has another form than its one type
        return None if data is None else _decode(arguments[0], data, where)
    if origin in (list, List, tuple, Tuple):
        if not isinstance(data, list):
            raise FormError(f'{where}: a list is expected, not {_name(data)}')
        items = [_decode(arguments[0], item, f'{where}[{i}]') for i, item in enumerate(data)]
        return items if origin in (list, List) else tuple(items)
    if origin in (dict, Dict):
        if not isinstance(data, dict):
            raise FormError(f'{where}: an object is expected, not {_name(data)}')
        return {key: _decode(arguments[1], item, _at(where, key)) for key, item in data.items()}
    if hasattr(kind, '_fields'):
        return from_json(kind, data, where)
    if kind is float and type(data) is int:
        return float(data)
    if type(data) is not kind:
        raise FormError(f'{where}: {kind.__name__} is expected, not {_name(data)}')
    return data


def _at(where: str, key: str) -> str:
    return f'{where}.{key}' if where else key


def _name(data: Any) -> str:
    return 'null' if data is None else type(data).__name__
