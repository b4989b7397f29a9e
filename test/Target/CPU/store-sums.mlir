// Sums of few terms that nothing follows: tiles store them into the result, and of the last vector what the result has
// columns for. A bias has a buffer of sums again.

// RUN: gantry compile %s --target-cpu=x86-64-v4 --stop-after=llvm -o - | FileCheck %s --check-prefixes=CHECK,MASK
// RUN: gantry compile %s --target-cpu=x86-64-v3 --stop-after=llvm -o - | FileCheck %s --check-prefixes=CHECK,PARTS

// CHECK-LABEL: define hidden void @gantry_tile_f32_4x32_0_31of31(
// MASK: store <16 x float> %{{.*}}, ptr %{{.*}}, align 4
// MASK: call void @llvm.masked.store.v16f32{{.*}} <i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 true, i1 false>)
// PARTS-NOT: masked
// PARTS: store <8 x float> %{{.*}}, ptr %{{.*}}, align 4
// PARTS: store <4 x float> %{{.*}}, ptr %{{.*}}, align 4
// PARTS: store <2 x float> %{{.*}}, ptr %{{.*}}, align 4
// PARTS: store <1 x float> %{{.*}}, ptr %{{.*}}, align 4
// CHECK: {{^}}}
// CHECK: define hidden void @gantry_tile_f32_4x32_0(
// MASK-NOT: llvm.masked.store
// PARTS-NOT: store <4 x float>
// CHECK: {{^}}}

func.func @main(%x: tensor<4x3xf32>, %y: tensor<3x31xf32>, %b: tensor<31xf32>) -> (tensor<4x31xf32>, tensor<4x31xf32>) {
  %0 = gantry.matmul %x, %y : (tensor<4x3xf32>, tensor<3x31xf32>) -> tensor<4x31xf32>
  %w = gantry.constant dense<1.0> : tensor<3x31xf32>
  %1 = gantry.matmul %x, %w : (tensor<4x3xf32>, tensor<3x31xf32>) -> tensor<4x31xf32>
  %2 = gantry.add %1, %b : (tensor<4x31xf32>, tensor<31xf32>) -> tensor<4x31xf32>
  return %0, %2 : tensor<4x31xf32>, tensor<4x31xf32>
}
