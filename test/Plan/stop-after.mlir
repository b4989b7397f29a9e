// The text after each phase, with what the phase did and what the next one will do.

// RUN: gantry compile %s --stop-after=import -o - | FileCheck %s --check-prefix=IMPORT
// RUN: gantry compile %s --stop-after=simplify -o - | FileCheck %s --check-prefix=SIMPLIFY
// RUN: gantry compile %s --stop-after=place -o - | FileCheck %s --check-prefix=PLACE
// RUN: gantry compile %s --stop-after=copy -o - | FileCheck %s --check-prefix=PLACE
// RUN: gantry compile %s --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE
// RUN: gantry compile %s --stop-after=kernel -o - | FileCheck %s --check-prefix=KERNEL
// RUN: gantry compile %s --stop-after=schedule -o - | FileCheck %s --check-prefix=SCHEDULE
// RUN: gantry compile %s --stop-after=memory -o - | FileCheck %s --check-prefix=MEMORY
// RUN: gantry compile %s --stop-after=llvm -o - | FileCheck %s --check-prefix=LLVM
// RUN: not gantry compile %s --stop-after=lunch -o - 2>&1 | FileCheck %s --check-prefix=UNKNOWN

// IMPORT: gantry.topology = #gantry.topology<[<"/job:localhost/replica:0/task:0/device:CPU:0">]>
// IMPORT: gantry.on "CPU:0"
// IMPORT: call @layer

// SIMPLIFY-NOT: gantry.on
// SIMPLIFY-NOT: call @layer
// SIMPLIFY: gantry.relu %{{.*}} {gantry.device = #gantry.device<"CPU:0">, gantry.name = "Relu/output0.0.0", gantry.origin = 
// SIMPLIFY-NOT: func.func private

// PLACE: gantry.relu %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">{{[,}]}}
// PLACE: gantry.exp %{{.*}} {gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">{{[,}]}}

// FUSE: gantry.launch @kernels_cpu::@relu_exp_0
// FUSE: gantry.kernel @relu_exp_0

// KERNEL: gantry.launch @kernels_cpu::@relu_exp_0
// KERNEL: func.func private @relu_exp_0({{.*}}memref<4xf32>
// KERNEL-SAME: gantry.work = #gantry.work<items = 1, grain = {{[0-9]+}}

// SCHEDULE: plan.func @main
// SCHEDULE: plan.buffer size 16 on @d0 "Exp/output0.0" : tensor<4xf32>
// SCHEDULE: plan.launch @relu_exp_0

// MEMORY: plan.func @main
// MEMORY: plan.buffer size 16 on @d0 in @transient_d0 at 0 "Exp/output0.0" : tensor<4xf32>

// LLVM: target triple
// LLVM: define {{.*}}void @relu_exp_0(ptr

// UNKNOWN: gantry: error: --stop-after: expected one of import, simplify, replicate, place, copy, fuse, kernel, schedule, memory, llvm, ptx, got 'lunch'

func.func @main(%x: tensor<4xf32>) -> tensor<f32> {
  %y = gantry.on "CPU:0" -> (tensor<4xf32>) {
    %0 = func.call @layer(%x) : (tensor<4xf32>) -> tensor<4xf32>
    gantry.yield %0 : tensor<4xf32>
  }
  %1 = gantry.reduce_sum %y {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1 : tensor<f32>
}
func.func private @layer(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.exp %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}
