"""Messages of an editor that wants to show a file of bytecode, and then to edit a text, as they go over the wire."""

import json
import sys


def send(method, params, **more):
    body = json.dumps({"jsonrpc": "2.0", "method": method, "params": params, **more}).encode()
    # The method's name could be written in other ways, too, and headers may be several.
    body = body.replace(b"mlir/convertFromBytecode", b"mlir\\/convert\\u0046romBytecode")
    sys.stdout.buffer.write(b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n"
                            b"Content-Length: %d\r\n\r\n%s" % (len(body), body))


TEXT = "func.func @main(%x: tensor<4xf32>) {\n  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>\n  return\n}"
send("initialize", {"processId": 123, "rootPath": "gantry", "capabilities": {}, "trace": "off"}, id=0)
send("mlir/convertFromBytecode", {"uri": "file://" + sys.argv[1]}, id=1)
send("textDocument/didOpen", {"textDocument": {"uri": "test:///mlir/convertFromBytecode.mlir", "languageId": "mlir",
                                               "version": 1, "text": TEXT}})
send("textDocument/hover", {"textDocument": {"uri": "test:///mlir/convertFromBytecode.mlir"},
                            "position": {"line": 1, "character": 10}}, id=2)
send("shutdown", {}, id=3)
send("exit", {})
