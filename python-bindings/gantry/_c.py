"""The C API as ctypes sees it. Made by tools/dev/generate_python.py from include/gantry-c."""

from ctypes import (CFUNCTYPE, POINTER, Structure, Union, c_char_p, c_double, c_int, c_int32, c_int64,
                    c_size_t, c_uint32, c_uint64, c_void_p)

OK = 0
INVALID_ARGUMENT = 1
NOT_FOUND = 2
CORRUPT = 3
UNSUPPORTED = 4
DOES_NOT_FIT = 5
UNAVAILABLE = 6
FAILED_PRECONDITION = 7
INTERNAL = 8
CANCELLED = 9
F32 = 0
F64 = 1
F16 = 2
BF16 = 3
I8 = 4
U8 = 5
I16 = 6
U16 = 7
I32 = 8
U32 = 9
I64 = 10
U64 = 11
I1 = 12
SEVERITY_NOTE = 0
SEVERITY_REMARK = 1
SEVERITY_WARNING = 2
SEVERITY_ERROR = 3
SEVERITY_PROGRESS = 4
DEVICE_NAME_AS_GIVEN = 0
DEVICE_NAME_FULL = 1
DEVICE_NAME_SHORT = 2
NUM_COPY_KINDS = 4
VERIFY_FULL = 0
VERIFY_LAZY = 1
VERIFY_OFF = 2
EMULATE_OFF = 0
EMULATE_CHECK_ALL = 1
EMULATE_CHECK_MEMORY = 2
EMULATE_CHECK_NOTHING = 3
COPY_SAME_DEVICE = 0
COPY_HOST_TO_DEVICE = 1
COPY_DEVICE_TO_HOST = 2
COPY_DEVICE_TO_DEVICE = 3
STATE_LOAD_KEEP_MISSING = 1
STATE_LOAD_SKIP_UNKNOWN = 2
SHOW_LOG = 0
SHOW_COPIES = 1
SHOW_MEMORY = 2
SHOW_EXPLAIN = 3
SHOW_TIMELINE = 4
SHOW_REPORT = 5
FORM_TEXT = 0
FORM_JSON = 1
SOFT_UNSET = 0
SOFT_STRICT = 1
SOFT_PREFER = 2
SOFT_ANY = 3
ATTRIBUTE_UNIT = 0
ATTRIBUTE_INT = 1
ATTRIBUTE_FLOAT = 2
ATTRIBUTE_STRING = 3
ATTRIBUTE_INTS = 4
ATTRIBUTE_FLOATS = 5
ATTRIBUTE_SYMBOL = 6
ATTRIBUTE_DEVICE = 7
ATTRIBUTE_DEVICES = 8
ATTRIBUTE_ENUM = 9
ATTRIBUTE_TEXT = 10
PRINT_LOCATIONS = 1
PRINT_NO_WEIGHTS = 2

gantry_log_callback_t = CFUNCTYPE(None, c_void_p, c_int, c_char_p)
gantry_kernel_t = CFUNCTYPE(None, POINTER(c_void_p), c_int64, c_int64)
gantry_release_t = CFUNCTYPE(None, c_void_p)
gantry_done_t = CFUNCTYPE(None, c_void_p, c_int, c_char_p)


class gantry_value_t(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("element", c_int),
        ("rank", c_uint32),
        ("dims", c_void_p),
        ("data", c_void_p),
    ]


class gantry_moment_t(Structure):
    _fields_ = [
        ("function", c_uint32),
        ("command", c_uint32),
        ("start", c_double),
        ("end", c_double),
    ]


class gantry_device_name_parts_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("job", c_char_p),
        ("replica", c_int64),
        ("task", c_int64),
        ("type", c_char_p),
        ("id", c_int64),
        ("is_physical", c_int),
    ]


class gantry_topology_flags_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("devices", c_char_p),
        ("visible", c_char_p),
        ("splits", POINTER(c_char_p)),
        ("num_splits", c_size_t),
        ("simulate", c_int),
    ]


class gantry_physical_device_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("type", c_char_p),
        ("driver", c_char_p),
        ("model", c_char_p),
        ("memory_bytes", c_uint64),
        ("flops", c_double),
        ("bandwidth", c_double),
    ]


class gantry_logical_device_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("short_name", c_char_p),
        ("type", c_char_p),
        ("driver", c_char_p),
        ("physical", c_char_p),
        ("limit_bytes", c_uint64),
        ("is_limited", c_int),
    ]


class gantry_machine_device_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("physical", c_char_p),
        ("driver", c_char_p),
        ("model", c_char_p),
        ("uuid", c_char_p),
        ("pci", c_char_p),
        ("total_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("flops", c_double),
        ("bandwidth", c_double),
        ("architecture", c_uint32),
        ("launch", c_double),
    ]


class gantry_machine_link_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("bandwidth", c_double),
        ("latency", c_double),
        ("is_known", c_int),
    ]


class gantry_machine_library_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("version", c_char_p),
        ("note", c_char_p),
    ]


class gantry_runtime_options_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_uint32),
        ("host_memory_limit", c_uint64),
        ("log", gantry_log_callback_t),
        ("log_context", c_void_p),
        ("sim_order", c_char_p),
        ("bindings", POINTER(c_char_p)),
        ("num_bindings", c_size_t),
        ("verify", c_int),
        ("emulate", c_int),
        ("sync_each", c_int),
        ("topology", c_char_p),
        ("memory", POINTER(c_char_p)),
        ("num_memory", c_size_t),
    ]


class gantry_copy_count_t(Structure):
    _fields_ = [
        ("copies", c_uint64),
        ("bytes", c_uint64),
        ("transfers", c_uint64),
    ]


class gantry_device_info_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("driver", c_char_p),
        ("total_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("limit_bytes", c_uint64),
        ("bytes_in_use", c_uint64),
        ("peak_bytes", c_uint64),
        ("mapped_bytes", c_uint64),
        ("allocations", c_uint64),
        ("copies", c_uint64),
        ("copied_bytes", c_uint64),
        ("staged_copies", c_uint64),
        ("staged_bytes", c_uint64),
        ("run_copies", gantry_copy_count_t * 4),
        ("load_copies", gantry_copy_count_t * 4),
        ("pinned_bytes", c_uint64),
        ("array_copies", gantry_copy_count_t * 4),
    ]


class gantry_tensor_info_t(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("element", c_int),
        ("rank", c_uint32),
        ("dims", c_void_p),
        ("size", c_uint64),
        ("device", c_char_p),
    ]


class gantry_kernel_choice_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("kernel", c_char_p),
        ("device", c_char_p),
        ("driver", c_char_p),
        ("variant", c_uint32),
        ("description", c_char_p),
        ("passed_over", c_char_p),
    ]


class gantry_command_time_t(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kernel", c_char_p),
        ("location", c_char_p),
        ("device", c_char_p),
        ("nanoseconds", c_uint64),
        ("calls", c_uint64),
    ]


class gantry_array_info_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("element", c_int),
        ("rank", c_uint32),
        ("dims", c_void_p),
        ("size", c_uint64),
        ("device", c_char_p),
        ("driver", c_char_p),
        ("data", c_void_p),
        ("is_on_host", c_int),
        ("is_alone", c_int),
    ]


class gantry_memory_info_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("bytes_in_use", c_uint64),
        ("peak_bytes", c_uint64),
        ("limit_bytes", c_uint64),
        ("total_bytes", c_uint64),
        ("free_bytes", c_uint64),
        ("is_open", c_int),
        ("reserved_bytes", c_uint64),
    ]


class gantry_show_options_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("function", c_char_p),
        ("op", c_char_p),
        ("all", c_uint32),
        ("memory", c_uint32),
        ("timeline", c_uint32),
        ("width", c_uint32),
        ("moments", POINTER(gantry_moment_t)),
        ("num_moments", c_size_t),
        ("other", c_void_p),
    ]


class gantry_compiler_options_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("threads", c_uint32),
    ]


class gantry_diagnostic_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("severity", c_int),
        ("status", c_int),
        ("file", c_char_p),
        ("line", c_uint32),
        ("column", c_uint32),
        ("node", c_char_p),
        ("op", c_char_p),
        ("text", c_char_p),
        ("told", c_char_p),
        ("notes", c_void_p),
        ("num_notes", c_size_t),
    ]

gantry_diagnostic_callback_t = CFUNCTYPE(None, c_void_p, POINTER(gantry_diagnostic_t))


class gantry_compile_request_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("file", c_char_p),
        ("data", c_void_p),
        ("data_size", c_size_t),
        ("name", c_char_p),
        ("folder", c_char_p),
        ("values", POINTER(gantry_value_t)),
        ("num_values", c_size_t),
        ("candidates", POINTER(gantry_value_t)),
        ("num_candidates", c_size_t),
        ("flags", POINTER(c_char_p)),
        ("num_flags", c_size_t),
        ("output", c_char_p),
        ("scratch_above", c_uint64),
        ("log", gantry_log_callback_t),
        ("log_context", c_void_p),
        ("cancel", c_void_p),
        ("graph", c_void_p),
        ("compiler", c_void_p),
        ("topology", c_char_p),
        ("diagnose", gantry_diagnostic_callback_t),
        ("diagnose_context", c_void_p),
        ("outline", c_uint32),
    ]


class gantry_port_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("type", c_char_p),
        ("element", c_int32),
        ("rank", c_int32),
        ("dims", c_void_p),
        ("dim_names", POINTER(c_char_p)),
    ]


class gantry_graph_options_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("diagnose", gantry_diagnostic_callback_t),
        ("diagnose_context", c_void_p),
    ]


class gantry_tensor_type_t(Structure):
    _fields_ = [
        ("element", c_int),
        ("rank", c_uint32),
        ("dims", c_void_p),
    ]


class gantry_graph_argument_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("type", gantry_tensor_type_t),
        ("dim_names", POINTER(c_char_p)),
        ("device", c_char_p),
    ]


class gantry_graph_constant_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("type", gantry_tensor_type_t),
        ("data", c_void_p),
        ("release", c_void_p),
        ("release_context", c_void_p),
        ("name", c_char_p),
    ]


class gantry_graph_variable_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("initial", POINTER(gantry_graph_constant_t)),
        ("device", c_char_p),
        ("soft", c_int),
        ("is_central", c_int),
    ]


class gantry_graph_output_t(Structure):
    _fields_ = [
        ("value", c_uint32),
        ("name", c_char_p),
        ("device", c_char_p),
    ]


class gantry_attribute_t_value(Union):
    _fields_ = [
        ("integer", c_int64),
        ("number", c_double),
        ("text", c_char_p),
        ("integers", c_void_p),
        ("numbers", c_void_p),
        ("texts", POINTER(c_char_p)),
    ]


class gantry_attribute_t(Structure):
    _fields_ = [
        ("name", c_char_p),
        ("kind", c_int),
        ("count", c_size_t),
        ("value", gantry_attribute_t_value),
    ]


class gantry_graph_op_t(Structure):
    _fields_ = [
        ("struct_size", c_size_t),
        ("name", c_char_p),
        ("operands", c_void_p),
        ("num_operands", c_size_t),
        ("attributes", POINTER(gantry_attribute_t)),
        ("num_attributes", c_size_t),
        ("result_types", POINTER(gantry_tensor_type_t)),
        ("num_result_types", c_size_t),
        ("label", c_char_p),
    ]


# By library: name, result, arguments.
RUNTIME = (
    ("gantry_status_name", c_char_p, (c_int,)),
    ("gantry_element_name", c_char_p, (c_int,)),
    ("gantry_element_size", c_size_t, (c_int,)),
    ("gantry_cancel_create", c_int, (POINTER(c_void_p),)),
    ("gantry_cancel_set", None, (c_void_p,)),
    ("gantry_cancel_reset", None, (c_void_p,)),
    ("gantry_cancel_is_set", c_int, (c_void_p,)),
    ("gantry_cancel_destroy", None, (c_void_p,)),
    ("gantry_device_name_parse", c_int, (c_char_p, POINTER(c_void_p))),
    ("gantry_device_name_destroy", None, (c_void_p,)),
    ("gantry_device_name_print", c_char_p, (c_void_p, c_int)),
    ("gantry_device_name_parts", c_int, (c_void_p, POINTER(gantry_device_name_parts_t))),
    ("gantry_device_name_merge", c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    ("gantry_device_name_matches", c_int, (c_void_p, c_void_p)),
    ("gantry_topology_of_machine", c_int, (POINTER(c_void_p),)),
    ("gantry_topology_parse", c_int, (POINTER(gantry_topology_flags_t), c_void_p, POINTER(c_void_p))),
    ("gantry_topology_from_json", c_int, (c_char_p, POINTER(c_void_p))),
    ("gantry_topology_to_json", c_char_p, (c_void_p,)),
    ("gantry_topology_destroy", None, (c_void_p,)),
    ("gantry_topology_num_physical", c_size_t, (c_void_p, c_char_p)),
    ("gantry_topology_num_logical", c_size_t, (c_void_p, c_char_p)),
    ("gantry_topology_physical", c_int, (c_void_p, c_char_p, c_size_t, POINTER(gantry_physical_device_t))),
    ("gantry_topology_logical", c_int, (c_void_p, c_char_p, c_size_t, POINTER(gantry_logical_device_t))),
    ("gantry_topology_place", c_int, (c_void_p, c_char_p, c_int, c_void_p, c_void_p)),
    ("gantry_topology_find", c_int, (c_void_p, c_char_p, c_void_p)),
    ("gantry_topology_list", c_int, (c_void_p, c_char_p, c_void_p, c_size_t, c_void_p)),
    ("gantry_machine_read", c_int, (POINTER(c_void_p),)),
    ("gantry_machine_destroy", None, (c_void_p,)),
    ("gantry_machine_calibrate", c_int, (c_void_p, c_uint32)),
    ("gantry_machine_topology", c_char_p, (c_void_p,)),
    ("gantry_machine_num_devices", c_size_t, (c_void_p,)),
    ("gantry_machine_device", c_int, (c_void_p, c_size_t, POINTER(gantry_machine_device_t))),
    ("gantry_machine_link", c_int, (c_void_p, c_size_t, c_size_t, POINTER(gantry_machine_link_t))),
    ("gantry_machine_num_libraries", c_size_t, (c_void_p,)),
    ("gantry_machine_library", c_int, (c_void_p, c_size_t, POINTER(gantry_machine_library_t))),
    ("gantry_last_error", c_char_p, ()),
    ("gantry_runtime_version", c_char_p, ()),
    ("gantry_runtime_create", c_int, (POINTER(gantry_runtime_options_t), POINTER(c_void_p))),
    ("gantry_runtime_configure_devices", c_int, (c_void_p, POINTER(gantry_runtime_options_t))),
    ("gantry_runtime_destroy", None, (c_void_p,)),
    ("gantry_runtime_threads", c_uint32, (c_void_p,)),
    ("gantry_kernel_register", c_int, (c_void_p, c_char_p, gantry_kernel_t)),
    ("gantry_runtime_num_devices", c_size_t, (c_void_p,)),
    ("gantry_runtime_device", c_int, (c_void_p, c_size_t, POINTER(gantry_device_info_t))),
    ("gantry_plan_load", c_int, (c_void_p, c_char_p, POINTER(c_void_p))),
    ("gantry_plan_load_memory", c_int, (c_void_p, c_void_p, c_size_t, gantry_release_t, c_void_p, POINTER(c_void_p))),
    ("gantry_plan_destroy", None, (c_void_p,)),
    ("gantry_plan_num_functions", c_uint32, (c_void_p,)),
    ("gantry_plan_function_name", c_char_p, (c_void_p, c_uint32)),
    ("gantry_plan_find_function", c_int, (c_void_p, c_char_p, c_void_p)),
    ("gantry_plan_num_inputs", c_uint32, (c_void_p, c_uint32)),
    ("gantry_plan_num_outputs", c_uint32, (c_void_p, c_uint32)),
    ("gantry_plan_input", c_int, (c_void_p, c_uint32, c_uint32, POINTER(gantry_tensor_info_t))),
    ("gantry_plan_output", c_int, (c_void_p, c_uint32, c_uint32, POINTER(gantry_tensor_info_t))),
    ("gantry_plan_find_input", c_int, (c_void_p, c_uint32, c_char_p, c_void_p)),
    ("gantry_plan_find_output", c_int, (c_void_p, c_uint32, c_char_p, c_void_p)),
    ("gantry_plan_output_over", c_int64, (c_void_p, c_uint32, c_uint32)),
    ("gantry_plan_num_kernel_choices", c_size_t, (c_void_p,)),
    ("gantry_plan_kernel_choice", c_int, (c_void_p, c_size_t, POINTER(gantry_kernel_choice_t))),
    ("gantry_plan_data", c_void_p, (c_void_p, c_void_p)),
    ("gantry_plan_describe_json", c_int, (c_void_p, POINTER(c_char_p))),
    ("gantry_state_create", c_int, (c_void_p, POINTER(c_void_p))),
    ("gantry_state_destroy", None, (c_void_p,)),
    ("gantry_state_num_variables", c_uint32, (c_void_p,)),
    ("gantry_state_variable", c_int, (c_void_p, c_uint32, POINTER(gantry_tensor_info_t))),
    ("gantry_state_mirror_of", c_char_p, (c_void_p, c_uint32)),
    ("gantry_state_read", c_int, (c_void_p, c_char_p, c_void_p, c_size_t)),
    ("gantry_state_write", c_int, (c_void_p, c_char_p, c_void_p, c_size_t)),
    ("gantry_state_read_values", c_int, (c_void_p, POINTER(gantry_value_t), c_size_t)),
    ("gantry_state_write_values", c_int, (c_void_p, POINTER(gantry_value_t), c_size_t)),
    ("gantry_state_save", c_int, (c_void_p, c_char_p, c_char_p)),
    ("gantry_state_load", c_int, (c_void_p, c_char_p, c_char_p, c_uint32)),
    ("gantry_tensor_file_load", c_int, (c_char_p, POINTER(c_void_p))),
    ("gantry_tensor_file_destroy", None, (c_void_p,)),
    ("gantry_tensor_file_num_tensors", c_size_t, (c_void_p,)),
    ("gantry_tensor_file_tensor", c_int, (c_void_p, c_size_t, POINTER(gantry_value_t))),
    ("gantry_tensor_file_metadata", c_char_p, (c_void_p,)),
    ("gantry_tensor_file_save", c_int, (c_char_p, POINTER(gantry_value_t), c_size_t, c_char_p)),
    ("gantry_session_create", c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    ("gantry_session_destroy", None, (c_void_p,)),
    ("gantry_session_state", c_int, (c_void_p, POINTER(c_void_p))),
    ("gantry_bindings_create", c_int, (c_void_p, c_uint32, POINTER(c_void_p))),
    ("gantry_bindings_destroy", None, (c_void_p,)),
    ("gantry_bindings_set_input", c_int, (c_void_p, c_char_p, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_output", c_int, (c_void_p, c_char_p, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_input_at", c_int, (c_void_p, c_uint32, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_output_at", c_int, (c_void_p, c_uint32, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_device_input", c_int, (c_void_p, c_char_p, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_device_output", c_int, (c_void_p, c_char_p, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_device_input_at", c_int, (c_void_p, c_uint32, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_device_output_at", c_int, (c_void_p, c_uint32, c_void_p, c_int, c_void_p, c_uint32)),
    ("gantry_bindings_set_stream", c_int, (c_void_p, c_void_p)),
    ("gantry_bindings_output", c_int, (c_void_p, c_char_p, POINTER(c_void_p))),
    ("gantry_bindings_output_at", c_int, (c_void_p, c_uint32, POINTER(c_void_p))),
    ("gantry_bindings_set_cancel", c_int, (c_void_p, c_void_p)),
    ("gantry_session_run", c_int, (c_void_p, c_void_p)),
    ("gantry_session_timeline", c_int, (c_void_p, POINTER(gantry_moment_t), c_size_t, c_void_p)),
    ("gantry_session_submit", c_int, (c_void_p, c_void_p, POINTER(c_void_p))),
    ("gantry_fence_done", c_int, (c_void_p,)),
    ("gantry_fence_wait", c_int, (c_void_p,)),
    ("gantry_fence_poll", c_int, (c_void_p, c_void_p)),
    ("gantry_fence_wait_for", c_int, (c_void_p, c_uint64, c_void_p)),
    ("gantry_fence_on_done", c_int, (c_void_p, gantry_done_t, c_void_p)),
    ("gantry_fence_destroy", None, (c_void_p,)),
    ("gantry_session_run_timed", c_int, (c_void_p, c_void_p, POINTER(gantry_command_time_t), c_size_t, c_void_p)),
    ("gantry_array_create", c_int, (c_void_p, c_char_p, c_int, c_void_p, c_uint32, POINTER(c_void_p))),
    ("gantry_array_from_host", c_int, (c_void_p, c_char_p, c_void_p, c_int, c_void_p, c_uint32, POINTER(c_void_p))),
    ("gantry_array_from_pointer", c_int, (c_void_p, c_char_p, c_void_p, c_int, c_void_p, c_uint32, gantry_release_t, c_void_p, POINTER(c_void_p))),
    ("gantry_array_retain", None, (c_void_p,)),
    ("gantry_array_destroy", None, (c_void_p,)),
    ("gantry_array_info", c_int, (c_void_p, POINTER(gantry_array_info_t))),
    ("gantry_array_read", c_int, (c_void_p, c_void_p, c_size_t)),
    ("gantry_array_write", c_int, (c_void_p, c_void_p, c_size_t)),
    ("gantry_array_copy_to", c_int, (c_void_p, c_char_p, POINTER(c_void_p))),
    ("gantry_array_to_dlpack", c_int, (c_void_p, c_int, POINTER(c_void_p))),
    ("gantry_array_from_dlpack", c_int, (c_void_p, c_void_p, c_int, POINTER(c_void_p))),
    ("gantry_array_dlpack_device", c_int, (c_void_p, c_void_p, c_void_p)),
    ("gantry_bindings_set_input_array_at", c_int, (c_void_p, c_uint32, c_void_p)),
    ("gantry_bindings_set_output_array_at", c_int, (c_void_p, c_uint32, c_void_p)),
    ("gantry_bindings_output_array_at", c_int, (c_void_p, c_uint32, POINTER(c_void_p))),
    ("gantry_session_call", c_int, (c_void_p, c_uint32, POINTER(c_void_p), c_size_t, POINTER(c_void_p), c_size_t, c_void_p)),
    ("gantry_state_create_empty", c_int, (c_void_p, POINTER(c_void_p))),
    ("gantry_state_add", c_int, (c_void_p, c_char_p, c_void_p)),
    ("gantry_state_remove", c_int, (c_void_p, c_char_p)),
    ("gantry_state_extend", c_int, (c_void_p, c_void_p)),
    ("gantry_state_array", c_int, (c_void_p, c_char_p, POINTER(c_void_p))),
    ("gantry_runtime_memory", c_int, (c_void_p, c_char_p, POINTER(gantry_memory_info_t))),
    ("gantry_runtime_reset_peak", c_int, (c_void_p, c_char_p)),
)
SHOW = (
    ("gantry_plan_view_open", c_int, (c_char_p, POINTER(c_void_p))),
    ("gantry_plan_view_of", c_int, (c_void_p, c_size_t, POINTER(c_void_p))),
    ("gantry_plan_view_destroy", None, (c_void_p,)),
    ("gantry_text_string", c_char_p, (c_void_p,)),
    ("gantry_text_size", c_size_t, (c_void_p,)),
    ("gantry_text_destroy", None, (c_void_p,)),
    ("gantry_plan_view_show", c_int, (c_void_p, c_int, c_int, POINTER(gantry_show_options_t), POINTER(c_void_p))),
    ("gantry_plan_view_diff", c_int, (c_void_p, c_void_p, c_int, POINTER(gantry_show_options_t), POINTER(c_void_p))),
    ("gantry_show_last_error", c_char_p, ()),
    ("gantry_show_version", c_char_p, ()),
)
COMPILER = (
    ("gantry_cancel_create", c_int, (POINTER(c_void_p),)),
    ("gantry_cancel_set", None, (c_void_p,)),
    ("gantry_cancel_reset", None, (c_void_p,)),
    ("gantry_cancel_destroy", None, (c_void_p,)),
    ("gantry_compiler_create", c_int, (POINTER(gantry_compiler_options_t), POINTER(c_void_p))),
    ("gantry_compiler_destroy", None, (c_void_p,)),
    ("gantry_compile", c_int, (POINTER(gantry_compile_request_t), POINTER(c_void_p))),
    ("gantry_check_flags", c_int, (POINTER(c_char_p), c_size_t)),
    ("gantry_why_not", c_int, (POINTER(gantry_compile_request_t), c_char_p, c_char_p, POINTER(c_void_p))),
    ("gantry_artifact_data", c_void_p, (c_void_p, c_void_p)),
    ("gantry_artifact_num_shape_values", c_size_t, (c_void_p,)),
    ("gantry_artifact_shape_value", c_char_p, (c_void_p, c_size_t)),
    ("gantry_artifact_num_files", c_size_t, (c_void_p,)),
    ("gantry_artifact_file", c_char_p, (c_void_p, c_size_t)),
    ("gantry_artifact_destroy", None, (c_void_p,)),
    ("gantry_plan_to_text", c_int, (c_void_p, c_size_t, POINTER(c_void_p))),
    ("gantry_check", c_int, (POINTER(gantry_compile_request_t), POINTER(c_void_p))),
    ("gantry_graph_info_num_inputs", c_size_t, (c_void_p,)),
    ("gantry_graph_info_input", c_int, (c_void_p, c_size_t, POINTER(gantry_port_t))),
    ("gantry_graph_info_num_outputs", c_size_t, (c_void_p,)),
    ("gantry_graph_info_output", c_int, (c_void_p, c_size_t, POINTER(gantry_port_t))),
    ("gantry_graph_info_num_open_dims", c_size_t, (c_void_p,)),
    ("gantry_graph_info_open_dim", c_char_p, (c_void_p, c_size_t)),
    ("gantry_graph_info_num_shape_inputs", c_size_t, (c_void_p,)),
    ("gantry_graph_info_shape_input", c_char_p, (c_void_p, c_size_t)),
    ("gantry_graph_info_text", c_char_p, (c_void_p,)),
    ("gantry_graph_info_json", c_char_p, (c_void_p,)),
    ("gantry_graph_info_destroy", None, (c_void_p,)),
    ("gantry_compiler_last_error", c_char_p, ()),
    ("gantry_compiler_version", c_char_p, ()),
    ("gantry_op_table_json", c_char_p, ()),
    ("gantry_graph_create", c_int, (c_void_p, POINTER(gantry_graph_options_t), POINTER(c_void_p))),
    ("gantry_graph_destroy", None, (c_void_p,)),
    ("gantry_graph_value_type", c_int, (c_void_p, c_uint32, POINTER(gantry_tensor_type_t))),
    ("gantry_graph_location", c_int, (c_void_p, c_char_p, c_uint32, c_uint32)),
    ("gantry_graph_push_device", c_int, (c_void_p, c_char_p, c_int)),
    ("gantry_graph_pop_device", c_int, (c_void_p,)),
    ("gantry_graph_function", c_int, (c_void_p, c_char_p)),
    ("gantry_graph_argument", c_int, (c_void_p, POINTER(gantry_graph_argument_t), c_void_p)),
    ("gantry_graph_constant", c_int, (c_void_p, POINTER(gantry_graph_constant_t), c_void_p)),
    ("gantry_graph_variable", c_int, (c_void_p, POINTER(gantry_graph_variable_t))),
    ("gantry_graph_return", c_int, (c_void_p, POINTER(gantry_graph_output_t), c_size_t)),
    ("gantry_graph_op", c_int, (c_void_p, POINTER(gantry_graph_op_t), c_void_p, c_size_t, c_void_p)),
    ("gantry_graph_begin_op", c_int, (c_void_p, POINTER(gantry_graph_op_t))),
    ("gantry_graph_begin_region", c_int, (c_void_p, POINTER(gantry_tensor_type_t), c_size_t, c_void_p)),
    ("gantry_graph_end_region", c_int, (c_void_p, c_void_p, c_size_t)),
    ("gantry_graph_end_op", c_int, (c_void_p, c_void_p, c_size_t, c_void_p)),
    ("gantry_graph_abandon_op", c_int, (c_void_p,)),
    ("gantry_graph_print", c_int, (c_void_p, c_uint32, POINTER(c_char_p))),
)
