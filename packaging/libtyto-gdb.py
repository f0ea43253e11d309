# SPDX-License-Identifier: MIT
# gdb shows tensors by type, shape, kind and first numbers; it computes nothing. Loaded by itself where it is installed
# with the library; else `source libtyto-gdb.py`.
import gdb
import gdb.printing


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        try:
            text = gdb.parse_and_eval(
                "((const char* (*)(const void*)) 'tyto::detail::debugger_text(tyto::Value const&)')"
                "((const void*) %d)" % int(self.value.address)
            )
            return text.string()
        except (gdb.error, TypeError) as error:
            return "tensor, shown only in a running process (%s)" % error


printers = gdb.printing.RegexpCollectionPrettyPrinter("tyto")
printers.add_printer("Tensor", "^tyto::Tensor<.*>$", TensorPrinter)
printers.add_printer("Value", "^tyto::Value$", TensorPrinter)
gdb.printing.register_pretty_printer(gdb.current_objfile(), printers, replace=True)
