// Code for GPUs: by architecture, as text, and in a plan.

// RUN: gantry compile %s --devices=CPU:0,GPU:0 --stop-after=ptx -o - | FileCheck %s
// CHECK: .target sm_75
// CHECK: .entry relu_0(
// CHECK: .maxntid
// CHECK: .minnctapersm 1
// CHECK: ld.global
// CHECK: st.global
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_120 --stop-after=ptx -o - | FileCheck %s --check-prefix=NEW
// NEW: .target sm_120
// The version of PTX is the oldest that knows the architecture, so that old drivers take it.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75 --stop-after=ptx -o - | FileCheck %s --check-prefix=V75
// V75: .version 6.3
// V75: .target sm_75
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --stop-after=ptx -o - | FileCheck %s --check-prefix=V80
// V80: .version 7.0
// V80: .target sm_80
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_86 --stop-after=ptx -o - | FileCheck %s --check-prefix=V86
// V86: .version 7.1
// V86: .target sm_86
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_87 --stop-after=ptx -o - | FileCheck %s --check-prefix=V87
// V87: .version 7.4
// V87: .target sm_87
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_88 --stop-after=ptx -o - | FileCheck %s --check-prefix=V88
// V88: .version 9.0
// V88: .target sm_88
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_89 --stop-after=ptx -o - | FileCheck %s --check-prefix=V89
// V89: .version 7.8
// V89: .target sm_89
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_90 --stop-after=ptx -o - | FileCheck %s --check-prefix=V90
// V90: .version 7.8
// V90: .target sm_90
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_100 --stop-after=ptx -o - | FileCheck %s --check-prefix=V100
// V100: .version 8.6
// V100: .target sm_100
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_103 --stop-after=ptx -o - | FileCheck %s --check-prefix=V103
// V103: .version 8.8
// V103: .target sm_103
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_110 --stop-after=ptx -o - | FileCheck %s --check-prefix=V110
// V110: .version 9.0
// V110: .target sm_110
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_120 --stop-after=ptx -o - | FileCheck %s --check-prefix=V120
// V120: .version 8.7
// V120: .target sm_120
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_121 --stop-after=ptx -o - | FileCheck %s --check-prefix=V121
// V121: .version 8.8
// V121: .target sm_121
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --stop-after=llvm -o - | FileCheck %s --check-prefix=LLVM
// LLVM: target triple = "nvptx64-nvidia-cuda"
// LLVM: define ptx_kernel void @relu_0(

// Of several architectures the newest comes first; PTX runs on what is newer than it.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_75,sm_90 --cubins=off -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s --check-prefix=PLAN
// PLAN: plan.code @code0 ptx for "sm_90"
// PLAN: plan.code @code1 ptx for "sm_75"
// PLAN: variants [#plan.variant<"cuda", code = @code0, arch = [90, 0], grid = [1, 1, 1], block = [32, 1, 1]>, #plan.variant<"cuda", code = @code1, arch = [75, 0], grid = [1, 1, 1], block = [32, 1, 1]>]

// RUN: not gantry compile %s --devices=CPU:0,GPU:0 --gpu-arch=sm_70 -o %t.none 2>&1 | FileCheck %s --check-prefix=OLD
// OLD: gantry: error: unknown architecture 'sm_70' in --gpu-arch; known are sm_75, sm_80, sm_86, sm_87, sm_88, sm_89, sm_90, sm_100, sm_103, sm_110, sm_120, sm_121

// Without a GPU there is an emulated one, which runs the same plan.
// RUN: gantry run %t.gantry --emulate --emulate-checks all --fill x=ramp -v 2>&1 | FileCheck %s --check-prefix=SAME
// SAME-DAG: [0. 1. 2. 3.]
// SAME-DAG: 1 kernel on GPU:0: PTX for sm_90
// RUN: not env GANTRY_CUDA_LIB=/nowhere/libcuda.so.1 gantry run %t.gantry --fill x=ramp 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: gantry: error: {{.*}}'/job:localhost/replica:0/task:0/device:GPU:0': NVIDIA's driver cannot be opened: /nowhere/libcuda.so.1: {{.*}}; compile the graph with --simulate, or run it with --emulate, to do without the device

func.func @main(%x: tensor<4xf32> {gantry.name = "x"}) -> (tensor<4xf32> {gantry.name = "y"}) {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
