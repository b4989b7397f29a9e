// A rule that the graph's own request or a lock overrules is told, once for all its ops; one that
// may give way is not. What a rule that matches nothing could have meant is listed.
// RUN: split-file %s %t
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=op:Relu=GPU:1" -o /dev/null 2>&1 | FileCheck %s --implicit-check-not=warning
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=op:Relu=GPU:0" -o /dev/null 2>&1 | count 0
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=op:Relu=GPU:1 soft=true" -o /dev/null 2>&1 | count 0
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=name:tail=GPU:0 lock=%t/lock.txt" -o /dev/null 2>&1 | FileCheck %s --check-prefix=LOCK --implicit-check-not=warning
// RUN: gantry-opt %t/graph.mlir --gantry-place="rules=op:Rleu=GPU:1,name:encoder*=GPU:1,kind:variable=CPU:0" -o /dev/null 2>&1 | FileCheck %s --check-prefix=UNUSED --implicit-check-not=warning

// CHECK: graph.mlir:3:10: warning: --place 'op:Relu=GPU:1' gives way: 'Relu' is on 'GPU:0', asked for at {{.*}}graph.mlir:3:10, and so for 1 more op; what the graph or a lock asks for is stronger than a rule
// LOCK: graph.mlir:5:10: warning: --place 'name:tail=GPU:0' gives way: 'Neg' is on 'CPU:0', locked by {{.*}}lock.txt:2; what the graph or a lock asks for is stronger than a rule
// UNUSED-DAG: warning: --place 'op:Rleu=GPU:1' matches nothing; did you mean 'Relu'?; the ops are Relu, Neg
// UNUSED-DAG: warning: --place 'name:encoder*=GPU:1' matches nothing; the names are tail
// UNUSED-DAG: warning: --place 'kind:variable=CPU:0' matches nothing{{$}}

//--- graph.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = gantry.relu %x {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.relu %0 {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = gantry.neg %1 {gantry.name = "tail"} : (tensor<4xf32>) -> tensor<4xf32>
    return %2 : tensor<4xf32>
  }
}

//--- lock.txt
# gantry placement lock 1
main tail /job:localhost/replica:0/task:0/device:CPU:0
