// All-reduces by NCCL: both ways in one plan, and what is known when it is loaded.

// RUN: gantry compile %s --devices=CPU:0,GPU:0,GPU:1 --collectives=nccl -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s
// CHECK-DAG: plan.kernel @all_reduce_0_part_0 {{.*}} variants [#plan.variant<"cuda", library = "nccl", version = "2.10", symbol = "all_reduce sum f32 elements 8192 rank 0 of 2">]
// CHECK-DAG: plan.kernel @all_reduce_0_part_1 {{.*}} symbol = "all_reduce sum f32 elements 8192 rank 1 of 2">]
// CHECK: plan.if
// CHECK-NEXT: plan.launch @all_reduce_0_part_0({{.*}}on @d1
// CHECK-NEXT: plan.launch @all_reduce_0_part_1({{.*}}on @d2
// CHECK-NEXT: } else {
// CHECK: plan.copy
// CHECK: gantry.library = "nccl"

// Emulated GPUs have no NCCL, and exchange directly: the same bytes as without the flag.
// RUN: gantry run %t.gantry --emulate --fill a=ramp --fill b=ones --output y=%t.1.npy -v 2>&1 | FileCheck %s --check-prefix=EMULATED
// EMULATED: devices exchange directly, without nccl: an emulated GPU has no library 'nccl'
// RUN: gantry compile %s --devices=CPU:0,GPU:0,GPU:1 -o %t.direct.gantry
// RUN: gantry plan-text %t.direct.gantry | FileCheck %s --check-prefix=DIRECT
// RUN: gantry run %t.direct.gantry --emulate --fill a=ramp --fill b=ones --output y=%t.2.npy
// RUN: cmp %t.1.npy %t.2.npy
// DIRECT-NOT: nccl
// DIRECT-NOT: plan.if

// Parts of one card, and simulated GPUs, are told of when compiling.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --split=GPU:0=64MiB,64MiB --collectives=nccl -o %t.split.gantry 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: is done by direct exchange, not by NCCL: 'GPU:1' is on one card with another of the devices
// RUN: gantry compile %s --devices=CPU:0,GPU:0,GPU:1 --simulate --collectives=nccl -o %t.sim.gantry 2>&1 | FileCheck %s --check-prefix=SIM
// SIM: is done by direct exchange, not by NCCL: 'GPU:0' is run by the driver 'sim'

// RUN: not gantry compile %s --devices=CPU:0,GPU:0,GPU:1 --collectives=mpi -o %t.none 2>&1 | FileCheck %s --check-prefix=UNKNOWN
// UNKNOWN: gantry: error: --collectives: expected one of direct, nccl, got 'mpi'

func.func @main(%a: tensor<8192xf32> {gantry.name = "a", gantry.device = #gantry.device<"GPU:0">}, %b: tensor<8192xf32> {gantry.name = "b", gantry.device = #gantry.device<"GPU:1">})
    -> (tensor<8192xf32> {gantry.name = "y"}) {
  %r:2 = gantry.all_reduce sum %a, %b on ["GPU:0", "GPU:1"] {gantry.name = "g"} : (tensor<8192xf32>, tensor<8192xf32>) -> (tensor<8192xf32>, tensor<8192xf32>)
  %0 = gantry.relu %r#0 {gantry.device = #gantry.device<"GPU:0">} : (tensor<8192xf32>) -> tensor<8192xf32>
  %1 = gantry.add %0, %r#1 {gantry.device = #gantry.device<"GPU:1">} : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  return %1 : tensor<8192xf32>
}
