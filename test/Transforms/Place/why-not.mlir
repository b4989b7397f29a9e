// What would have to change (spec P10): a minimal set, each in words.
// RUN: split-file %s %t
// RUN: gantry explain %t/graph.mlir --why-not free GPU:1 | FileCheck %s --check-prefix=FREE
// FREE: 'Relu' ('free') is on GPU:0 (GPUs before CPUs, then the lowest id); for GPU:1:
// FREE-NEXT: - ask for GPU:1: gantry.device = #gantry.device<"GPU:1">, or --place 'name:free=GPU:1'
// What it would cost: both ways are compiled and compared.
// FREE-NEXT: then, compared with now:
// FREE-NEXT: predicted  23 µs -> 23 µs per run
// FREE-NEXT: copies     {{[0-9]+}} (h2d {{[0-9]+}}, d2h {{[0-9]+}}) -> {{[0-9]+}} (h2d {{[0-9]+}}, d2h {{[0-9]+}}) per run
// FREE-NEXT: memory     GPU:0
// FREE-NEXT: memory     GPU:1 0 bytes -> {{[0-9]+}} bytes
// FREE-NEXT: no limits were given
// RUN: gantry explain %t/graph.mlir --why-not Relu GPU:0 | FileCheck %s --check-prefix=THERE
// THERE: 'Relu' ('free') is on GPU:0 already
// RUN: gantry explain %t/graph.mlir --why-not asks GPU:0 | FileCheck %s --check-prefix=ASKS
// ASKS: 'Exp' ('asks') is on CPU:0 (asked for at {{.*}}graph.mlir:4:10); for GPU:0:
// ASKS-NEXT: - drop the request of 'Exp' ('asks') for CPU:0 (asked for at {{.*}}graph.mlir:4:10)
// RUN: gantry explain %t/graph.mlir --why-not goes GPU:0 | FileCheck %s --check-prefix=GOES
// GOES: 'Neg' ('goes') is on CPU:0 (goes with 'Exp' ('asks'), asked for at {{.*}}); for GPU:0:
// GOES-NEXT: - take 'Neg' ('goes') out of the colocation group 'g'
// RUN: gantry explain %t/graph.mlir --place name:free=CPU:0 --why-not free GPU:0 | FileCheck %s --check-prefix=RULE
// RULE: 'Relu' ('free') is on CPU:0 (--place 'name:free=CPU:0'); for GPU:0:
// RULE-NEXT: - drop the rule --place 'name:free=CPU:0'
// RUN: gantry explain %t/graph.mlir --placement-lock %t/lock.txt --why-not free GPU:0 | FileCheck %s --check-prefix=LOCK
// LOCK: 'Relu' ('free') is on GPU:1 (locked by {{.*}}lock.txt:2); for GPU:0:
// LOCK-NEXT: - remove 'Relu' ('free') from the lock (locked by {{.*}}lock.txt:2)
// A graph that cannot be placed has an answer, too.
// RUN: gantry explain %t/graph.mlir --place name:free=GPU:9 --why-not free GPU:0 | FileCheck %s --check-prefix=FAILS
// FAILS: 'Relu' ('free') has no device; for GPU:0:
// FAILS-NEXT: - drop the rule --place 'name:free=GPU:9'
// RUN: not gantry explain %t/graph.mlir --why-not nobody GPU:0 2>&1 | FileCheck %s --check-prefix=NOBODY
// NOBODY: error: --why-not: no op is named 'nobody'; the ops are 'free', 'asks', 'goes'
// RUN: not gantry explain %t/graph.mlir --why-not free GPU:7 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: error: --why-not: '/job:localhost/replica:0/task:0/device:GPU:7': unknown device; the devices are
// RUN: not gantry explain %t/graph.mlir --why-not free XPU:0 2>&1 | FileCheck %s --check-prefix=FORM
// FORM: error: --why-not: device name 'XPU:0', column 1: {{.*}}

// Ops with the same advice are told together, whatever describes them; a rule moves them all.
// RUN: gantry explain %t/layers.mlir --devices=CPU:0,GPU:0,GPU:1@64KiB --simulate --why-not 'op:Relu' GPU:1 | FileCheck %s --check-prefix=LAYERS
// RUN: gantry explain %t/layers.mlir --devices=CPU:0,GPU:0,GPU:1@64KiB --simulate --why-not 'layer.{0..2}/*' GPU:1 | FileCheck %s --check-prefix=LAYERS
// LAYERS: 3 'Relu', each of which is on GPU:0 (GPUs before CPUs, then the lowest id); for GPU:1:
// LAYERS-NEXT: {{^}}  layer.{0..2}/relu{{$}}
// LAYERS-NEXT: - ask for GPU:1: --place 'name:layer.{0..2}/relu=GPU:1'
// LAYERS-NEXT: then, compared with now:
// LAYERS-NEXT: predicted
// LAYERS-NEXT: copies     2 (h2d 1, d2h 1) -> 4 (h2d 1, d2h 1, d2d 2) per run, 8 KiB -> 16 KiB
// LAYERS-NEXT: memory     GPU:1 0 bytes -> {{.*}} of 64 KiB
// LAYERS-NEXT: it fits the limits
// That rule brings what was said.
// RUN: gantry compile %t/layers.mlir --devices=CPU:0,GPU:0,GPU:1@64KiB --simulate --place 'name:layer.{0..2}/relu=GPU:1' --log-device-placement -o %t.gantry 2>&1 | FileCheck %s --check-prefix=MOVED
// MOVED: placed 5 ops: GPU:0 2, GPU:1 3; 0 fall-backs; 4 copies per run, 16 KiB (h2d 1, d2h 1, d2d 2)
// A device that is too small for it.
// RUN: gantry explain %t/layers.mlir --devices=CPU:0,GPU:0,GPU:1@2KiB --simulate --why-not 'op:Relu' GPU:1 | FileCheck %s --check-prefix=SMALL
// SMALL: then it does not fit: {{.*}}the plan needs {{.*}} on '/job:localhost/replica:0/task:0/device:GPU:1', the limit is 2 KiB

// RUN: gantry explain %t/graph.mlir --why-not numbers GPU:1 | FileCheck %s --check-prefix=GENERATOR
// GENERATOR: 'Range' ('numbers') goes with what uses it; for GPU:1:
// GENERATOR-NEXT: - ask for GPU:1: gantry.device = #gantry.device<"GPU:1">

//--- graph.mlir
module attributes {gantry.topology = #gantry.topology<[#gantry.device<"/device:CPU:0">, #gantry.device<"/device:GPU:0">, #gantry.device<"/device:GPU:1">]>} {
  func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.relu %x {gantry.name = "free"} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.exp %x {gantry.name = "asks", gantry.device = #gantry.device<"CPU:0">, gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = gantry.neg %x {gantry.name = "goes", gantry.colocate = ["g"]} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = gantry.iota {gantry.name = "numbers", axis = 0 : i64} : () -> tensor<4xf32>
    return %0, %1, %2, %3 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}

//--- layers.mlir
module {
  func.func @main(%x: tensor<1024xf32>) -> tensor<1024xf32> {
    %0 = gantry.exp %x {gantry.name = "first"} : (tensor<1024xf32>) -> tensor<1024xf32>
    %1 = gantry.relu %0 {gantry.name = "layer.0/relu"} : (tensor<1024xf32>) -> tensor<1024xf32>
    %2 = gantry.relu %1 {gantry.name = "layer.1/relu"} : (tensor<1024xf32>) -> tensor<1024xf32>
    %3 = gantry.relu %2 {gantry.name = "layer.2/relu"} : (tensor<1024xf32>) -> tensor<1024xf32>
    %4 = gantry.neg %3 {gantry.name = "last"} : (tensor<1024xf32>) -> tensor<1024xf32>
    return %4 : tensor<1024xf32>
  }
}

//--- lock.txt
# gantry placement lock 1
main free /job:localhost/replica:0/task:0/device:GPU:1
