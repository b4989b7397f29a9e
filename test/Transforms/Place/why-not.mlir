// What would have to change (spec P10): a minimal set, each in words.
// RUN: split-file %s %t
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=free=GPU:1" | FileCheck %s --check-prefix=FREE
// FREE: gantry.why_not = "'Relu' ('free') is on GPU:0 (GPUs before CPUs, then the lowest id); for GPU:1:\0A- ask for GPU:1: gantry.device = #gantry.device<\22GPU:1\22>, or --place 'name:free=GPU:1'\0A"
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=Relu=GPU:0" | FileCheck %s --check-prefix=THERE
// THERE: gantry.why_not = "'Relu' ('free') is on GPU:0 already\0A"
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=asks=GPU:0" | FileCheck %s --check-prefix=ASKS
// ASKS: gantry.why_not = "'Exp' ('asks') is on CPU:0 (asked for at {{.*}}graph.mlir:4:10); for GPU:0:\0A- drop the request of 'Exp' ('asks') for CPU:0 (asked for at {{.*}}graph.mlir:4:10)\0A"
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=goes=GPU:0" | FileCheck %s --check-prefix=GOES
// GOES: gantry.why_not = "'Neg' ('goes') is on CPU:0 (goes with 'Exp' ('asks'), asked for at {{.*}}); for GPU:0:\0A- take 'Neg' ('goes') out of the colocation group 'g'\0A"
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=cpu=GPU:0" | FileCheck %s --check-prefix=KERNEL
// KERNEL: gantry.why_not = "'TopKV2' ('cpu') cannot be on GPU:0: no kernel for 'TopKV2' of f32 there; there are kernels for CPU (selecting is sequential along the axis; a parallel form is not written)\0A"
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="rules=name:free=CPU:0 why-not=free=GPU:0" | FileCheck %s --check-prefix=RULE
// RULE: gantry.why_not = "'Relu' ('free') is on CPU:0 (--place 'name:free=CPU:0'); for GPU:0:\0A- drop the rule --place 'name:free=CPU:0'\0A"
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="lock=%t/lock.txt why-not=free=GPU:0" | FileCheck %s --check-prefix=LOCK
// LOCK: gantry.why_not = "'Relu' ('free') is on GPU:1 (locked by {{.*}}lock.txt:2); for GPU:0:\0A- remove 'free' from the lock (locked by {{.*}}lock.txt:2)\0A"
// A graph that cannot be placed has an answer, too.
// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="rules=name:free=GPU:9 why-not=free=GPU:0" | FileCheck %s --check-prefix=FAILS
// FAILS: gantry.why_not = "'Relu' ('free') has no device; for GPU:0:\0A- drop the rule --place 'name:free=GPU:9'\0A"
// RUN: not gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=nobody=GPU:0" 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: error: --why-not: no op is named 'nobody'; the ops are 'free', 'asks', 'goes', 'cpu'
// RUN: not gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=free=GPU:7" 2>&1 | FileCheck %s --check-prefix=DEVICE
// DEVICE: error: --why-not: '/job:localhost/replica:0/task:0/device:GPU:7': unknown device; the devices are
// RUN: not gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=free" 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: --why-not 'free' is not OP=DEVICE

// RUN: gantry-opt %t/graph.mlir --gantry-assign-devices="why-not=numbers=GPU:1" | FileCheck %s --check-prefix=GENERATOR
// GENERATOR: gantry.why_not = "'Range' ('numbers') goes with what uses it; for GPU:1:\0A- ask for GPU:1: gantry.device = #gantry.device<\22GPU:1\22>\0A"

//--- graph.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @main(%x: tensor<4xf32>) {
    %0 = gantry.relu %x {gantry.name = "free"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.exp %x {gantry.name = "asks", gantry.device = #gantry.device<"CPU:0">, gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = gantry.neg %x {gantry.name = "goes", gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    %3:2 = gantry.top_k %x {gantry.name = "cpu", axis = 0 : i64, k = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
    %4 = gantry.iota {gantry.name = "numbers", axis = 0 : i64} : () -> tensor<4xf32>
    return
  }
}

//--- lock.txt
# gantry placement lock 1
main free /job:localhost/replica:0/task:0/device:GPU:1
