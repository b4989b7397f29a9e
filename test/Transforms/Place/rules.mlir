// Rules from outside (spec P15).
// RUN: split-file %s %t
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=@%t/rules.txt" --mlir-print-local-scope 2>&1 | FileCheck %s
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=name:nothing*=GPU:1,op:Relu=GPU:1,kind:variable=CPU:0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNUSED
// RUN: not gantry-opt %t/graph.mlir --gantry-place="rules=op:Relu=GPU:2" 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// RUN: not gantry-opt %t/graph.mlir --gantry-place="rules=*=GPU:99" 2>&1 | FileCheck %s --check-prefix=MANY
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=op:Relu=GPU:7 soft=true" -o /dev/null 2>&1 | FileCheck %s --check-prefix=SOFT
// RUN: not gantry-opt %t/graph.mlir --gantry-place="rules=op:TosaSub=GPU:0" 2>&1 | FileCheck %s --check-prefix=KERNEL
// RUN: not gantry-opt %t/graph.mlir --gantry-place="rules=Relu:GPU:0" 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not gantry-opt %t/graph.mlir --gantry-place="rules=@%t/bad.txt" 2>&1 | FileCheck %s --check-prefix=LINE
// RUN: not gantry-opt %t/graph.mlir --gantry-place="rules=@%t/none.txt" 2>&1 | FileCheck %s --check-prefix=FILE

// By log name, by the op type of the file it came from, by name, by the name of the node, by kind.
// CHECK-NOT: matches nothing
// CHECK: gantry.relu {{.*}}device:GPU:1">{{.*}}<"rule", "{{.*}}rules.txt:2 'op:Relu=GPU:1'">
// CHECK: gantry.matmul {{.*}}device:CPU:0">{{.*}}<"rule", "{{.*}}rules.txt:3 'op:Gemm=CPU:0'">
// CHECK: gantry.exp {{.*}}device:GPU:1">{{.*}}<"rule", "{{.*}}'name:encoder.*=GPU:1'">
// CHECK: gantry.neg {{.*}}device:CPU:0">{{.*}}<"rule", "{{.*}}'name:node7=CPU:0'">
// CHECK: gantry.reduce_sum {{.*}}device:CPU:0">{{.*}}<"rule", "{{.*}}'kind:reduction=CPU'">
// A request is stronger.
// CHECK: gantry.relu {{.*}}device:GPU:0">{{.*}}<"requested", {{.*}}rejected = ["GPU:1: what is stronger says otherwise"]>
// CHECK: gantry.constant {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">}
// CHECK: tosa.sub {{.*}}<"default"

// UNUSED-DAG: warning: --place 'name:nothing*=GPU:1' matches nothing
// UNUSED-DAG: warning: --place 'kind:variable=CPU:0' matches nothing
// UNUSED-NOT: op:Relu{{.*}}matches nothing
// UNKNOWN: graph.mlir:3:10: error: --place 'op:Relu=GPU:2' puts 'Relu' on '/job:localhost/replica:0/task:0/device:GPU:2': unknown device; the devices are /job:localhost/replica:0/task:0/device:CPU:0, /job:localhost/replica:0/task:0/device:GPU:0, /job:localhost/replica:0/task:0/device:GPU:1; to have it: --devices=CPU:0,GPU:0,GPU:1,GPU:2 --simulate; to fall back to these: --soft-placement
// One error for all ops of a rule, in the words of the model, of whose nodes they are parts.
// MANY: graph.mlir:3:10: error: --place '*=GPU:99' puts 'Relu', 'Gemm', 'encoder.0' (Exp) and 3 more on '/job:localhost/replica:0/task:0/device:GPU:99': unknown device; the devices are {{.*}}GPU:1; to fall back to these: --soft-placement
// MANY-NOT: error
// SOFT: graph.mlir:3:10: remark: 'Relu' falls back from '/job:localhost/replica:0/task:0/device:GPU:7' to '/job:localhost/replica:0/task:0/device:GPU:0': unknown device
// KERNEL: error: 'TosaSub' is placed on '/job:localhost/replica:0/task:0/device:GPU:0' by --place 'op:TosaSub=GPU:0': no kernel for 'TosaSub' of f32 there; there are kernels for CPU; ask
// FORM: error: --place 'Relu:GPU:0' is not PATTERN=DEVICE, for example op:MatMul=GPU:1
// LINE: error: {{.*}}bad.txt:2 'ops:Relu=GPU:0' has the unknown subject 'ops'; known are op, name, kind
// FILE: error: --place: {{.*}}none.txt

//--- graph.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @main(%x: tensor<2x2xf32>, %v: tensor<4xf32>) {
    %0 = gantry.relu %x : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %1 = gantry.matmul %x, %x {gantry.source_op = "Gemm"} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x2xf32>
    %2 = gantry.exp %x {gantry.name = "encoder.0"} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %3 = gantry.neg %x {gantry.name = "node7.1"} : (tensor<2x2xf32>) -> tensor<2x2xf32> loc("node7")
    %4 = gantry.reduce_sum %x {axes = array<i64: 1>} : (tensor<2x2xf32>) -> tensor<2xf32>
    %5 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<2x2xf32>) -> tensor<2x2xf32>
    %6 = gantry.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %7 = tosa.sub %v, %v : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    return
  }
}

//--- rules.txt
# The first rule that matches wins.
op:Relu=GPU:1
op:Gemm=CPU:0      # the op type in an ONNX file
name:encoder.*=GPU:1
name:node7=CPU:0
kind:reduction=CPU
kind:contraction=GPU:1
kind:constant=GPU:1

//--- bad.txt
op:Relu=GPU:0
ops:Relu=GPU:0
