// What would have to change (spec P10): a minimal set, each in words.
// RUN: split-file %s %t
// RUN: gantry explain %t/graph.mlir --why-not free GPU:1 | FileCheck %s --check-prefix=FREE
// FREE: 'Relu' ('free') is on GPU:0 (GPUs before CPUs, then the lowest id); for GPU:1:
// FREE-NEXT: - ask for GPU:1: gantry.device = #gantry.device<"GPU:1">, or --place 'name:free=GPU:1'
// RUN: gantry explain %t/graph.mlir --why-not Relu GPU:0 | FileCheck %s --check-prefix=THERE
// THERE: 'Relu' ('free') is on GPU:0 already
// RUN: gantry explain %t/graph.mlir --why-not asks GPU:0 | FileCheck %s --check-prefix=ASKS
// ASKS: 'Exp' ('asks') is on CPU:0 (asked for at {{.*}}graph.mlir:4:10); for GPU:0:
// ASKS-NEXT: - drop the request of 'Exp' ('asks') for CPU:0 (asked for at {{.*}}graph.mlir:4:10)
// RUN: gantry explain %t/graph.mlir --why-not goes GPU:0 | FileCheck %s --check-prefix=GOES
// GOES: 'Neg' ('goes') is on CPU:0 (goes with 'Exp' ('asks'), asked for at {{.*}}); for GPU:0:
// GOES-NEXT: - take 'Neg' ('goes') out of the colocation group 'g'
// RUN: gantry explain %t/graph.mlir --why-not cpu GPU:0 | FileCheck %s --check-prefix=KERNEL
// KERNEL: 'TopKV2' ('cpu') cannot be on GPU:0: no kernel for 'TopKV2' of f32 there; there are kernels for CPU (selecting is sequential along the axis; a parallel form is not written)
// RUN: gantry explain %t/graph.mlir --place name:free=CPU:0 --why-not free GPU:0 | FileCheck %s --check-prefix=RULE
// RULE: 'Relu' ('free') is on CPU:0 (--place 'name:free=CPU:0'); for GPU:0:
// RULE-NEXT: - drop the rule --place 'name:free=CPU:0'
// RUN: gantry explain %t/graph.mlir --placement-lock %t/lock.txt --why-not free GPU:0 | FileCheck %s --check-prefix=LOCK
// LOCK: 'Relu' ('free') is on GPU:1 (locked by {{.*}}lock.txt:2); for GPU:0:
// LOCK-NEXT: - remove 'free' from the lock (locked by {{.*}}lock.txt:2)
// A graph that cannot be placed has an answer, too.
// RUN: gantry explain %t/graph.mlir --place name:free=GPU:9 --why-not free GPU:0 | FileCheck %s --check-prefix=FAILS
// FAILS: 'Relu' ('free') has no device; for GPU:0:
// FAILS-NEXT: - drop the rule --place 'name:free=GPU:9'
// RUN: not gantry explain %t/graph.mlir --why-not nobody GPU:0 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: error: --why-not: no op is named 'nobody'; the ops are 'free', 'asks', 'goes', 'cpu'
// RUN: not gantry explain %t/graph.mlir --why-not free GPU:7 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --why-not: '/job:localhost/replica:0/task:0/device:GPU:7': unknown device; the devices are
// RUN: not gantry explain %t/graph.mlir --why-not free XPU:0 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: --why-not 'free=XPU:0' is not OP=DEVICE: device name 'XPU:0', column 1: {{.*}}

// RUN: gantry explain %t/graph.mlir --why-not numbers GPU:1 | FileCheck %s --check-prefix=GENERATOR
// GENERATOR: 'Range' ('numbers') goes with what uses it; for GPU:1:
// GENERATOR-NEXT: - ask for GPU:1: gantry.device = #gantry.device<"GPU:1">

//--- graph.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>) {
    %0 = gantry.relu %x {gantry.name = "free"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.exp %x {gantry.name = "asks", gantry.device = #gantry.device<"CPU:0">, gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = gantry.neg %x {gantry.name = "goes", gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    %3:2 = gantry.top_k %x {gantry.name = "cpu", axis = 0 : i64, k = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
    %4 = gantry.iota {gantry.name = "numbers", axis = 0 : i64} : () -> tensor<4xf32>
    return %0, %1, %2, %3#0, %4 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<2xf32>, tensor<4xf32>
  }
}

//--- lock.txt
# gantry placement lock 1
main free /job:localhost/replica:0/task:0/device:GPU:1
