// Convolutions and attention on GPUs with tensor cores get factors of 16 bits and sums of f32.

// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --stop-after=place -o - | gantry-opt --gantry-set-targets="machines=cuda=sm_90,cuda=sm_80 math=f16" --gantry-reduce-precision | FileCheck %s --check-prefix=F16
// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --stop-after=place -o - | gantry-opt --gantry-set-targets="machines=cuda=sm_90,cuda=sm_75 math=f16" --gantry-reduce-precision | FileCheck %s --check-prefix=OLD
// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=bf16 --stop-after=fuse -o - | FileCheck %s
// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=f16 --stop-after=fuse -o - | FileCheck %s --check-prefix=F16
// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --gpu-arch=sm_75 --math=bf16 --stop-after=fuse -o - | FileCheck %s --check-prefix=OLD
// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=bf16 --also=sim --stop-after=fuse -o - | FileCheck %s --check-prefix=OLD
// RUN: gantry compile %s --entry=attention --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=bf16 --stop-after=fuse -o - | FileCheck %s --check-prefix=ATTENTION
// RUN: gantry compile %s --entry=attention --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=bf16 --stop-after=kernel -o - | FileCheck %s --check-prefix=THREADS
// RUN: gantry compile %s --entry=convolutions --devices=CPU:0,GPU:0 --gpu-arch=sm_80 --math=bf16 -o %t.gantry
// RUN: gantry explain %t.gantry --all | FileCheck %s --check-prefix=EXPLAIN

// The filter is rounded here, the image by the kernel that makes it; the convolution of one channel a group stays.
// CHECK-DAG: gantry.cast {{.*}} -> tensor<1x16x8x8xbf16>
// CHECK-DAG: gantry.conv {{.*}}accumulate_type = f32{{.*}} : (tensor<1x16x10x10xbf16>, tensor<16x16x3x3xbf16>) -> tensor<1x16x8x8xf32>
// CHECK-DAG: gantry.conv {{.*}} : (tensor<1x16x8x8xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x6x6xf32>
// F16: gantry.conv {{.*}}accumulate_type = f32{{.*}} : (tensor<1x16x10x10xf16>, tensor<16x16x3x3xf16>) -> tensor<1x16x8x8xf32>
// OLD-NOT: accumulate_type
// EXPLAIN: Conv2D {{.*}}Conv2D(bf16)
func.func @convolutions(%x: tensor<1x16x8x8xf32>) -> tensor<1x16x6x6xf32> {
  %w = gantry.constant dense<0.5> : tensor<16x16x3x3xf32>
  %v = gantry.constant dense<0.25> : tensor<16x1x3x3xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %0 = gantry.relu %x : (tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %1 = gantry.pad %0, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode constant>} : (tensor<1x16x8x8xf32>, tensor<f32>) -> tensor<1x16x10x10xf32>
  %2 = gantry.conv %1, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x10x10xf32>, tensor<16x16x3x3xf32>) -> tensor<1x16x8x8xf32>
  %3 = gantry.conv %2, %v {strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x16x8x8xf32>, tensor<16x1x3x3xf32>) -> tensor<1x16x6x6xf32>
  return %3 : tensor<1x16x6x6xf32>
}

// Scores and softmax are f32, weights are rounded behind it, all in one kernel.
// ATTENTION: gantry.kernel @{{.*}}softmax{{.*}} {
// ATTENTION-NOT: gantry.kernel
// ATTENTION: gantry.matmul {{.*}}accumulate_type = f32{{.*}} -> tensor<12x128x128xf32>
// ATTENTION: gantry.softmax {{.*}} -> tensor<12x128x128xf32>
// ATTENTION: gantry.cast {{.*}} -> tensor<12x128x128xbf16>
// ATTENTION: gantry.matmul {{.*}}accumulate_type = f32{{.*}} -> tensor<12x128x64xf32>
// THREADS: memref.alloc() {{.*}}xf32, #gpu.address_space<workgroup>>
// THREADS: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
// THREADS: math.exp
// THREADS: nvvm.mma.sync {{.*}}shape = #nvvm.shape<m = 16, n = 8, k = 16>
func.func @attention(%q: tensor<12x128x64xf32>, %k: tensor<12x64x128xf32>, %v: tensor<12x128x64xf32>) -> tensor<12x128x64xf32> {
  %0 = gantry.matmul %q, %k : (tensor<12x128x64xf32>, tensor<12x64x128xf32>) -> tensor<12x128x128xf32>
  %1 = gantry.softmax %0 {axis = 2 : i64} : (tensor<12x128x128xf32>) -> tensor<12x128x128xf32>
  %2 = gantry.matmul %1, %v : (tensor<12x128x128xf32>, tensor<12x128x64xf32>) -> tensor<12x128x64xf32>
  return %2 : tensor<12x128x64xf32>
}
