// Flags and files become the module's topology (spec D4, D5, D6, D8).

// RUN: gantry compile %s --stop-after=import -o - | FileCheck %s --check-prefix=HOST
// HOST: gantry.topology = #gantry.topology<[<"/job:localhost/replica:0/task:0/device:CPU:0">]>

// A simulated GPU is what the short form means.
// RUN: gantry compile %s --stop-after=import -o - --devices=GPU:0,cpu:0 --simulate | FileCheck %s --check-prefix=SIM
// SIM: #gantry.topology<[<"/job:localhost/replica:0/task:0/device:CPU:0">, <"/job:localhost/replica:0/task:0/device:GPU:0">]>

// RUN: gantry compile %s --stop-after=import -o - --devices=CPU:0,GPU:0@16GiB | FileCheck %s --check-prefix=CUDA
// CUDA: logical = [{physical = 0 : i64}, {limit = 17179869184 : i64, physical = 1 : i64}]
// CUDA-SAME: driver = "cuda", name = "/job:localhost/replica:0/task:0/physical_device:GPU:0"

// GPU 1 of the machine is hidden; GPU 0 is two, and GPU 2 the third.
// RUN: gantry compile %s --stop-after=import -o - --devices=GPU:0,GPU:1,GPU:2 --simulate --visible=0,2 --split=GPU:0=1GiB,2GiB | FileCheck %s --check-prefix=SPLIT
// SPLIT: device:GPU:0">, <"{{.*}}device:GPU:1">, <"{{.*}}device:GPU:2">]
// SPLIT-SAME: logical = [{physical = 0 : i64}, {limit = 1073741824 : i64, physical = 1 : i64}, {limit = 2147483648 : i64, physical = 1 : i64}, {physical = 3 : i64}]

// RUN: gantry compile %s --stop-after=import -o - --topology=%S/Inputs/topology.json --simulate | FileCheck %s --check-prefix=FILE
// FILE: links = [{bandwidth = 2.500000e+10 : f64, from = 0 : i64, latency = 1.000000e-05 : f64, to = 1 : i64}]
// FILE-SAME: driver = "sim", memory = 2147483648 : i64, model = "a card"

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
