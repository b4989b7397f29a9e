// Products of bytes: what multiplies words of them is the processor's; nothing that saturates does.

// RUN: gantry compile %s --stop-after=llvm --target-cpu=cascadelake -o - | FileCheck %s --check-prefix=VNNI
// RUN: gantry compile %s --stop-after=llvm --target-cpu=x86-64-v4 -o - | FileCheck %s --check-prefix=V4
// RUN: gantry compile %s --stop-after=llvm --target-cpu=x86-64-v3 -o - | FileCheck %s --check-prefix=V3
// RUN: gantry compile %s --stop-after=llvm --target-cpu=x86-64-v2 -o - | FileCheck %s --check-prefix=V2
// RUN: gantry compile %s --stop-after=fuse -o - | FileCheck %s --check-prefix=FUSE

// VNNI-NOT: pmadd
// VNNI: call <16 x i32> @llvm.x86.avx512.vpdpbusd.512(
// VNNI-NOT: pmadd
// V4-NOT: {{vpdpbusd|pmadd.ub}}
// V4: call <16 x i32> @llvm.x86.avx512.pmaddw.d.512(
// V4-NOT: {{vpdpbusd|pmadd.ub}}
// V3-NOT: {{vpdpbusd|pmadd.ub}}
// V3: call <8 x i32> @llvm.x86.avx2.pmadd.wd(
// V3-NOT: {{vpdpbusd|pmadd.ub}}
// V2-NOT: {{vpdpbusd|pmadd.ub}}
// V2: call <4 x i32> @llvm.x86.sse2.pmadd.wd(
// V2-NOT: {{vpdpbusd|pmadd.ub}}

// Rows are pixels, and channels are filled up to words: 7 become 8. All that follows is in the kernel,
// which takes the weights as bytes.
// FUSE-LABEL: func.func @main(
// FUSE-DAG: %[[W:.*]] = gantry.constant {{.*}} tensor<1x1x2x16x4xi8>
// FUSE-DAG: %[[X:.*]] = gantry.reshape %arg0 {{.*}} -> tensor<1x5x7xui8>
// FUSE: %[[FULL:.*]] = gantry.launch @kernels_cpu::@pad_0(%[[X]])
// FUSE: %[[Y:.*]] = gantry.launch @kernels_cpu::@conv_cast_mul_round_and_1_0(%[[FULL]], %[[W]])
// FUSE-NEXT: gantry.reshape %[[Y]]
// FUSE-NEXT: return
func.func @main(%x: tensor<5x7xui8>) -> tensor<5x16xui8> {
  %w = gantry.constant dense<1> : tensor<7x16xi8>
  %s = gantry.constant dense<0.5> : tensor<f32>
  %0 = gantry.matmul %x, %w : (tensor<5x7xui8>, tensor<7x16xi8>) -> tensor<5x16xi32>
  %1 = gantry.cast %0 : (tensor<5x16xi32>) -> tensor<5x16xf32>
  %2 = gantry.mul %1, %s : (tensor<5x16xf32>, tensor<f32>) -> tensor<5x16xf32>
  %3 = gantry.round %2 : (tensor<5x16xf32>) -> tensor<5x16xf32>
  %y = gantry.cast %3 : (tensor<5x16xf32>) -> tensor<5x16xui8>
  return %y : tensor<5x16xui8>
}

// Outputs that no panel divides, and many of them, are filled up to panels of 64, what is added with them, and cut off
// behind all that follows; without that they are one panel.
// FUSE-LABEL: func.func @many(
// FUSE-DAG: gantry.constant {{.*}} tensor<33x1x2x64x4xi8>
// FUSE: %[[SUMS:.*]] = gantry.launch @kernels_cpu::@conv_add_cast_mul_0({{.*}} -> tensor<1x5x2112xf32>
// FUSE: gantry.launch @kernels_cpu::@slice_0(%[[SUMS]]) {{.*}} -> tensor<1x5x2053xf32>
func.func @many(%x: tensor<5x8xui8>) -> tensor<5x2053xf32> {
  %w = gantry.constant dense<1> : tensor<8x2053xi8>
  %bias = gantry.constant dense<3> : tensor<2053xi32>
  %s = gantry.constant dense<0.5> : tensor<f32>
  %0 = gantry.matmul %x, %w : (tensor<5x8xui8>, tensor<8x2053xi8>) -> tensor<5x2053xi32>
  %1 = gantry.add %0, %bias : (tensor<5x2053xi32>, tensor<2053xi32>) -> tensor<5x2053xi32>
  %2 = gantry.cast %1 : (tensor<5x2053xi32>) -> tensor<5x2053xf32>
  %y = gantry.mul %2, %s : (tensor<5x2053xf32>, tensor<f32>) -> tensor<5x2053xf32>
  return %y : tensor<5x2053xf32>
}
