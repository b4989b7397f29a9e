// Kernels are complete: the object of a plan asks for no symbol, whatever functions it computes.
// RUN: gantry compile %s --target-cpu=x86-64-v3,x86-64-v4 -o %t.gantry
// RUN: %python -B %S/Inputs/extract_objects.py %t.gantry %t
// RUN: llvm-nm -D --undefined-only %t.0 | count 0
// RUN: llvm-nm -D --undefined-only %t.1 | count 0
// RUN: llvm-nm -D --defined-only %t.0 | FileCheck %s
// CHECK: T {{.*}}
// They are linked with fewer open files than there are kernels.
// RUN: sh -c "ulimit -n 16; gantry compile %s --no-fuse -o %t.gantry"

func.func @main(%x: tensor<1000xf32>, %y: tensor<1000xf64>) -> (tensor<1000xf32>, tensor<1000xf64>, tensor<1000xf32>, tensor<1000xf64>) {
  %x0 = gantry.exp %x : (tensor<1000xf32>) -> tensor<1000xf32>
  %x1 = gantry.expm1 %x0 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x2 = gantry.log %x1 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x3 = gantry.log1p %x2 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x4 = gantry.rsqrt %x3 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x5 = gantry.sin %x4 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x6 = gantry.cos %x5 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x7 = gantry.tan %x6 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x8 = gantry.asin %x7 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x9 = gantry.acos %x8 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x10 = gantry.atan %x9 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x11 = gantry.sinh %x10 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x12 = gantry.cosh %x11 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x13 = gantry.tanh %x12 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x14 = gantry.asinh %x13 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x15 = gantry.acosh %x14 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x16 = gantry.atanh %x15 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x17 = gantry.erf %x16 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x18 = gantry.softplus %x17 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x19 = gantry.sigmoid %x18 : (tensor<1000xf32>) -> tensor<1000xf32>
  %x20 = gantry.gelu %x19 : (tensor<1000xf32>) -> tensor<1000xf32>
  %xpow = gantry.pow %x20, %x : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %xrem = gantry.rem %xpow, %x : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %xmod = gantry.mod %xrem, %x : (tensor<1000xf32>, tensor<1000xf32>) -> tensor<1000xf32>
  %y0 = gantry.exp %y : (tensor<1000xf64>) -> tensor<1000xf64>
  %y1 = gantry.expm1 %y0 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y2 = gantry.log %y1 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y3 = gantry.log1p %y2 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y4 = gantry.rsqrt %y3 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y5 = gantry.sin %y4 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y6 = gantry.cos %y5 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y7 = gantry.tan %y6 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y8 = gantry.asin %y7 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y9 = gantry.acos %y8 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y10 = gantry.atan %y9 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y11 = gantry.sinh %y10 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y12 = gantry.cosh %y11 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y13 = gantry.tanh %y12 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y14 = gantry.asinh %y13 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y15 = gantry.acosh %y14 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y16 = gantry.atanh %y15 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y17 = gantry.erf %y16 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y18 = gantry.softplus %y17 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y19 = gantry.sigmoid %y18 : (tensor<1000xf64>) -> tensor<1000xf64>
  %y20 = gantry.gelu %y19 : (tensor<1000xf64>) -> tensor<1000xf64>
  %ypow = gantry.pow %y20, %y : (tensor<1000xf64>, tensor<1000xf64>) -> tensor<1000xf64>
  %yrem = gantry.rem %ypow, %y : (tensor<1000xf64>, tensor<1000xf64>) -> tensor<1000xf64>
  %ymod = gantry.mod %yrem, %y : (tensor<1000xf64>, tensor<1000xf64>) -> tensor<1000xf64>
  return %xmod, %ymod, %xpow, %ypow : tensor<1000xf32>, tensor<1000xf64>, tensor<1000xf32>, tensor<1000xf64>
}
