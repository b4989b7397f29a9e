// Finds convolutions on buffers, and what their kernels are written with.

#include "Convolution.h"

#include "Panels.h"
#include "gantry/Dialect/Gantry/IR/Accumulators.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace gantry;

//===----------------------------------------------------------------------===//
// Finding
//===----------------------------------------------------------------------===//

static MemRefType typeOf(Value buffer) { return cast<MemRefType>(buffer.getType()); }

static bool isPlain(Value buffer) {
  auto type = dyn_cast<MemRefType>(buffer.getType());
  return type && type.getLayout().isIdentity();
}

/// Whether the factors and sums of an op are f32, pairs of bf16 and f32, or bytes and their sums.
static bool hasTypes(linalg::GenericOp op, int64_t packingFactor) {
  auto element = [&](Value value) { return typeOf(value).getElementType(); };
  auto isFactor = [&](Value value) {
    return (element(value).isF32() || givesAccumulators(op) || element(value).isInteger(8)) &&
           packingFactorOfChannels(element(value)) == packingFactor;
  };
  Type accumulators = element(op.getOutputs()[0]);
  return llvm::all_of(op->getOperands(), isPlain) && llvm::all_of(op.getInputs(), isFactor) &&
         (packingFactor == kInt8PackingFactor ? accumulators.isInteger(32) : accumulators.isF32());
}

bool gantry::writesZeros(Operation *op, Value buffer) {
  auto isZero = [](Value value) {
    APFloat constant(0.0f);
    return matchPattern(value, m_Zero()) ||
           (matchPattern(value, m_ConstantFloat(&constant)) && constant.isPosZero());
  };
  if (auto fill = dyn_cast<linalg::FillOp>(op))
    return fill.getOutputs()[0] == buffer && isZero(fill.getInputs()[0]);
  auto all = dyn_cast<linalg::LinalgOp>(op);
  return all && all.getNumDpsInits() == 1 && all.getDpsInits()[0] == buffer &&
         all->getRegion(0).hasOneBlock() && all.getNumParallelLoops() == all.getNumLoops() &&
         isZero(all.getBlock()->getTerminator()->getOperand(0));
}

/// Who else touches a buffer; nothing when that is not seen.
static SmallVector<Operation *> othersAt(Value buffer, Operation *op) {
  SmallVector<Operation *> others;
  for (Operation *user : buffer.getUsers())
    if (user != op && !llvm::is_contained(others, user))
      others.push_back(user);
  return others;
}

/// An element-wise op over pixels and channels that can be computed on registers.
static bool isEpilogue(linalg::GenericOp op, Value accumulators, unsigned loops) {
  if (op.getNumDpsInits() != 1 || op.getNumLoops() != loops || op.getNumParallelLoops() != loops ||
      !op.getIndexingMapsArray().back().isIdentity() ||
      !typeOf(op.getOutputs()[0]).getLayout().isIdentity())
    return false;
  auto isReadable = [&](OpOperand *input) {
    auto type = dyn_cast<MemRefType>(input->get().getType());
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!type || type.getElementTypeBitWidth() < 8)
      return false;
    if (input->get() == accumulators)
      return map.isIdentity();
    for (auto [i, expr] : llvm::enumerate(map.getResults()))
      if (!isa<AffineDimExpr, AffineConstantExpr>(expr) ||
          (expr.isFunctionOfDim(loops - 1) && i + 1 != map.getNumResults()))
        return false;
    return type.getLayout().isIdentity();
  };
  auto isMapped = [](Operation &inner) {
    return isa<arith::ConstantOp>(inner) ||
           (OpTrait::hasElementwiseMappableTraits(&inner) && inner.getNumResults() == 1);
  };
  return llvm::all_of(op.getDpsInputOperands(), isReadable) &&
         llvm::all_of(op.getBody()->without_terminator(), isMapped);
}

/// The image behind a buffer that holds it within borders of zeros, of a transposed convolution
/// with zeros between its pixels as well, and the op that copies it there.
static void findBorders(Convolution &found) {
  auto padded = found.image.getDefiningOp<memref::AllocOp>();
  if (!padded)
    return;
  memref::SubViewOp inside;
  Operation *zeros = nullptr;
  for (Operation *user : othersAt(found.image, found.op)) {
    if (auto view = dyn_cast<memref::SubViewOp>(user); view && !inside)
      inside = view;
    else if (writesZeros(user, found.image) && !zeros)
      zeros = user;
    else
      return;
  }
  auto isDynamic = [](int64_t size) { return ShapedType::isDynamic(size); };
  if (!inside || !zeros || !inside->hasOneUse() ||
      (!inside.hasUnitStride() && !found.form.isTransposed) ||
      llvm::any_of(inside.getStaticStrides(), isDynamic) ||
      llvm::any_of(inside.getStaticOffsets(), isDynamic))
    return;
  auto copy = dyn_cast<memref::CopyOp>(*inside->user_begin());
  if (!copy || copy.getTarget() != inside || !isPlain(copy.getSource()) ||
      typeOf(copy.getSource()).getShape() != inside.getType().getShape())
    return;
  for (unsigned i = 0; i < found.form.spatial(); ++i) {
    found.low[i] = inside.getStaticOffsets()[i + 1];
    found.imageSteps[i] = inside.getStaticStrides()[i + 1];
  }
  found.image = copy.getSource();
  found.replaced.append({copy, inside, zeros, padded});
}

/// The factor as a number that is multiplied: of bytes the first one is unsigned, the second one is
/// not.
static Value factorOf(Value number, int64_t packingFactor, bool isFirst) {
  if (packingFactor == 1)
    return number;
  Operation *widened = number.getDefiningOp();
  bool fits = packingFactor != kInt8PackingFactor ? isa_and_present<arith::ExtFOp>(widened)
              : isFirst                           ? isa_and_present<arith::ExtUIOp>(widened)
                                                  : isa_and_present<arith::ExtSIOp>(widened);
  return fits ? widened->getOperand(0) : Value();
}

/// Whether each step adds the product of its two inputs to the sum.
static bool addsProducts(linalg::GenericOp op, int64_t packingFactor) {
  Block &body = *op.getBody();
  Value a = body.getArgument(0), b = body.getArgument(1),
        before = body.getArgument(body.getNumArguments() - 1);
  Operation *sum = body.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_present<arith::AddFOp, arith::AddIOp>(sum) ||
      (sum->getOperand(0) != before && sum->getOperand(1) != before))
    return false;
  Operation *product = sum->getOperand(sum->getOperand(0) == before ? 1 : 0).getDefiningOp();
  if (!isa_and_present<arith::MulFOp, arith::MulIOp>(product))
    return false;
  Value x = product->getOperand(0), y = product->getOperand(1);
  auto are = [&](Value first, Value second) {
    return factorOf(first, packingFactor, true) == a && factorOf(second, packingFactor, false) == b;
  };
  return are(x, y) || are(y, x);
}

/// The one op that reads sums. Where it writes to their place, those behind it read what it wrote.
static linalg::GenericOp onlyReaderOf(Value accumulators, ArrayRef<Operation *> readers) {
  for (Operation *reader : readers) {
    auto op = dyn_cast<linalg::GenericOp>(reader);
    const bool isInPlace = op && op.getNumDpsInits() == 1 && op.getOutputs()[0] == accumulators;
    auto isBehind = [&](Operation *other) {
      return other == reader || (isInPlace && other->getBlock() == reader->getBlock() &&
                                 reader->isBeforeInBlock(other));
    };
    if (op && llvm::all_of(readers, isBehind))
      return op;
  }
  return {};
}

std::optional<Convolution> Convolution::match(linalg::GenericOp op) {
  auto form = PackedConvolution::match(op);
  const int64_t packingFactor = form ? form->depth : 1;
  if (!form || !op.hasPureBufferSemantics() || !hasTypes(op, packingFactor) ||
      !addsProducts(op, packingFactor))
    return std::nullopt;
  form->channels /= form->depth;
  form->depth = 1;
  Value accumulators = op.getOutputs()[0];
  Convolution found{op, *form, op.getInputs()[0], op.getInputs()[1], accumulators, accumulators, {},
                    {}, {},    packingFactor};
  found.low.assign(form->spatial(), 0);
  found.imageSteps.assign(form->spatial(), 1);
  Operation *zeros = nullptr;
  SmallVector<Operation *> readers;
  for (Operation *user : othersAt(accumulators, op))
    if (!zeros && writesZeros(user, accumulators) && user->getBlock() == op->getBlock() &&
        user->isBeforeInBlock(op))
      zeros = user;
    else
      readers.push_back(user);
  if (!zeros)
    return std::nullopt;
  linalg::GenericOp reader = onlyReaderOf(accumulators, readers);
  if (reader && reader->getBlock() == op->getBlock() && op->isBeforeInBlock(reader) &&
      isEpilogue(reader, accumulators, form->spatial() + 2)) {
    found.epilogue = reader;
    found.result = reader.getOutputs()[0];
    found.replaced.push_back(reader);
  }
  found.replaced.append({op, zeros});
  if (form->isTransposed)
    if (auto sizes = op.getInputs()[2].getDefiningOp<memref::AllocOp>(); sizes->hasOneUse())
      found.replaced.push_back(sizes);
  if (auto own = accumulators.getDefiningOp<memref::AllocOp>();
      own && found.epilogue && found.result != accumulators)
    found.replaced.push_back(own);
  findBorders(found);
  return found;
}

int64_t Convolution::pixels() const {
  int64_t count = form.batch;
  for (int64_t size : form.out)
    count *= size;
  return count;
}

int64_t Convolution::sizeK() const {
  int64_t count = form.inner();
  for (int64_t size : form.window)
    count *= size;
  return count;
}

int64_t Convolution::filterTerms() const {
  if (!phase)
    return sizeK();
  int64_t count = form.inner();
  for (int64_t size : phase->window)
    count *= size;
  return count;
}

// Pixel y of the result meets the filter's place tap where y + (window - 1 - tap) - low is the
// place of a pixel among the zeros: a multiple of the steps.
SmallVector<Convolution, 4> gantry::phasesOf(const Convolution &convolution) {
  const PackedConvolution &form = convolution.form;
  ArrayRef<int64_t> imageSteps = convolution.imageSteps, low = convolution.low;
  int64_t count = 1;
  for (int64_t step : imageSteps)
    count *= step;
  SmallVector<Convolution, 4> all;
  for (int64_t number = 0; number < count; ++number) {
    Convolution made = convolution;
    made.phase = ResultPhase{convolution.imageSteps, {}, form.out, form.window, {}};
    int64_t rest = number;
    for (unsigned d = 0; d < form.spatial(); ++d) {
      const int64_t step = imageSteps[d], first = rest % step, window = form.window[d];
      rest /= step;
      // How many places of the window are before the first that meets a pixel.
      const int64_t skipped = ((low[d] - first) % step + step) % step;
      made.phase->first.push_back(first);
      made.phase->tap.push_back(window - 1 - skipped);
      made.form.out[d] = llvm::divideCeil(std::max<int64_t>(form.out[d] - first, 0), step);
      made.form.window[d] = llvm::divideCeil(std::max<int64_t>(window - skipped, 0), step);
      made.low[d] = (low[d] - first - skipped) / step;
    }
    if (made.pixels() > 0)
      all.push_back(std::move(made));
  }
  return all;
}

bool Convolution::hasBorder(unsigned dim) const {
  int64_t reach =
      (form.out[dim] - 1) * form.strides[dim] + (form.window[dim] - 1) * form.dilations[dim] + 1;
  return low[dim] > 0 || reach - low[dim] > imageSize(dim);
}

bool Convolution::hasBorder() const {
  return llvm::any_of(llvm::seq(form.spatial()), [&](unsigned dim) { return hasBorder(dim); });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

Value IndexBuilder::constant(int64_t value) const {
  return arith::ConstantIndexOp::create(b, value);
}
Value IndexBuilder::add(Value x, Value y) const { return b.createOrFold<arith::AddIOp>(x, y); }
Value IndexBuilder::add(Value x, int64_t y) const { return y ? add(x, constant(y)) : x; }
Value IndexBuilder::mul(Value x, int64_t y) const {
  return y == 1 ? x : b.createOrFold<arith::MulIOp>(x, constant(y));
}
Value IndexBuilder::div(Value x, int64_t y) const {
  return y == 1 ? x : b.createOrFold<arith::DivUIOp>(x, constant(y));
}
Value IndexBuilder::rem(Value x, int64_t y) const {
  return b.createOrFold<arith::RemUIOp>(x, constant(y));
}
Value IndexBuilder::min(Value x, Value y) const { return b.createOrFold<arith::MinUIOp>(x, y); }
Value IndexBuilder::max(Value x, Value y) const { return b.createOrFold<arith::MaxUIOp>(x, y); }
Value IndexBuilder::less(Value x, int64_t y) const {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, constant(y));
}

void gantry::setGrain(OpBuilder &b, int64_t work, int64_t least) {
  auto func = cast<func::FuncOp>(b.getInsertionBlock()->getParentOp());
  func->setAttr(kWorkAttr, WorkAttr::of(func).withGrain(
                               std::max<int64_t>(1, least / std::max<int64_t>(work, 1))));
}

Value gantry::flatten(ImplicitLocOpBuilder &b, Value buffer) {
  ReassociationIndices all;
  for (int64_t d = 0; d < typeOf(buffer).getRank(); ++d)
    all.push_back(d);
  if (all.size() == 1)
    return buffer;
  return memref::CollapseShapeOp::create(b, buffer, ArrayRef<ReassociationIndices>(all));
}

Value gantry::flattenFactors(ImplicitLocOpBuilder &b, const Convolution &convolution,
                             Value buffer) {
  Value flat = flatten(b, buffer);
  if (!convolution.isInt8())
    return flat;
  auto words = MemRefType::get({typeOf(flat).getDimSize(0) / 4}, b.getI32Type());
  return memref::ViewOp::create(b, words, flat, IndexBuilder{b}.constant(0), ValueRange());
}

SmallVector<Lanes> gantry::lanesOf(int64_t columns) {
  SmallVector<Lanes> lanes;
  for (int64_t at = 0; at < columns; at += kPanelLanes)
    lanes.push_back({at, std::min(kPanelLanes, columns - at)});
  return lanes;
}

int64_t gantry::widthOf(int64_t live) { return llvm::PowerOf2Ceil(live); }

static Value maskOf(ImplicitLocOpBuilder &b, int64_t live) {
  SmallVector<bool> lanes(widthOf(live), false);
  std::fill_n(lanes.begin(), live, true);
  auto type = VectorType::get({widthOf(live)}, b.getI1Type());
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, lanes));
}

Value gantry::loadLanes(ImplicitLocOpBuilder &b, Value buffer, ValueRange at, int64_t live) {
  auto type = VectorType::get({widthOf(live)}, typeOf(buffer).getElementType());
  if (live == widthOf(live))
    return vector::LoadOp::create(b, type, buffer, at);
  Value rest = arith::ConstantOp::create(b, b.getZeroAttr(type));
  return vector::MaskedLoadOp::create(b, type, buffer, at, maskOf(b, live), rest);
}

void gantry::storeLanes(ImplicitLocOpBuilder &b, Value value, Value buffer, ValueRange at,
                        int64_t live) {
  // Truth values are bytes in memory; a vector of them would be bits there.
  if (typeOf(buffer).getElementType().isInteger(1)) {
    SmallVector<Value> place(at);
    for (int64_t lane = 0; lane < live; ++lane) {
      place.back() = IndexBuilder{b}.add(at.back(), lane);
      memref::StoreOp::create(b, vector::ExtractOp::create(b, value, lane), buffer, place);
    }
    return;
  }
  if (live == widthOf(live))
    vector::StoreOp::create(b, value, buffer, at);
  else
    vector::MaskedStoreOp::create(b, buffer, at, maskOf(b, live), value);
}

// Only of bytes are there views as words of another type; pairs are loaded as what they are.
int64_t gantry::elementsOfWord(const Convolution &convolution) {
  return convolution.isPairs() ? convolution.packingFactor : 1;
}

static Value pairsAsWords(ImplicitLocOpBuilder &b, Value pairs) {
  const int64_t words = cast<VectorType>(pairs.getType()).getDimSize(0) / 2;
  return vector::BitCastOp::create(b, VectorType::get({words}, b.getI32Type()), pairs);
}

Value gantry::loadWord(ImplicitLocOpBuilder &b, const Convolution &convolution, Value buffer,
                       Value at) {
  if (!convolution.isPairs())
    return memref::LoadOp::create(b, buffer, at);
  at = IndexBuilder{b}.mul(at, elementsOfWord(convolution));
  Value word = pairsAsWords(b, loadLanes(b, buffer, at, elementsOfWord(convolution)));
  return vector::ExtractOp::create(b, word, ArrayRef<int64_t>{0});
}

Value gantry::loadWords(ImplicitLocOpBuilder &b, const Convolution &convolution, Value buffer,
                        Value at, int64_t live) {
  if (!convolution.isPairs())
    return loadLanes(b, buffer, at, live);
  const int64_t elements = elementsOfWord(convolution);
  return pairsAsWords(b, loadLanes(b, buffer, IndexBuilder{b}.mul(at, elements), live * elements));
}

Pixel gantry::pixelAt(const Convolution &convolution, const IndexBuilder &index, Value number) {
  if (const std::optional<ResultRow> &only = convolution.only)
    return {index.add(only->first, number),
            {only->image, only->row, number},
            index.add(only->read, number),
            index.add(only->stored, number)};
  Pixel pixel{number, {}, number, number};
  Value rest = number;
  for (int64_t size : llvm::reverse(convolution.form.out)) {
    pixel.at.push_back(index.rem(rest, size));
    rest = index.div(rest, size);
  }
  pixel.at.push_back(rest);
  std::reverse(pixel.at.begin(), pixel.at.end());
  const std::optional<ResultPhase> &phase = convolution.phase;
  if (!phase)
    return pixel;
  pixel.inPhase = pixel.at;
  if (llvm::all_of(phase->steps, [](int64_t step) { return step == 1; }))
    return pixel; // there is one phase
  Value inResult = pixel.at[0];
  for (unsigned d = 0; d < phase->out.size(); ++d) {
    pixel.at[d + 1] = index.add(index.mul(pixel.at[d + 1], phase->steps[d]), phase->first[d]);
    inResult = index.add(index.mul(inResult, phase->out[d]), pixel.at[d + 1]);
  }
  pixel.number = pixel.stored = inResult;
  return pixel;
}

//===----------------------------------------------------------------------===//
// Borders
//===----------------------------------------------------------------------===//

Borders::Borders(ImplicitLocOpBuilder &b, const Convolution &convolution, Value flatImage,
                 int64_t length)
    : b(b), flatImage(flatImage), length(length) {
  if (!convolution.hasBorder())
    return;
  auto function = convolution.op->getParentOfType<func::FuncOp>();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  zeros = memref::AllocaOp::create(b, MemRefType::get({length}, typeOf(flatImage).getElementType()),
                                   b.getI64IntegerAttr(64));
}

void Borders::clear() {
  if (!any())
    return;
  int64_t whole = length / kPanelLanes * kPanelLanes;
  auto clearLanes = [&](Value at, int64_t live) {
    Value zero = arith::ConstantOp::create(
        b, b.getZeroAttr(VectorType::get({widthOf(live)}, typeOf(zeros).getElementType())));
    storeLanes(b, zero, zeros, at, live);
  };
  IndexBuilder index{b};
  if (whole)
    LoopBuilder(b).loop(0, whole, kPanelLanes, [&](Value at) { clearLanes(at, kPanelLanes); });
  if (whole < length)
    clearLanes(index.constant(whole), length - whole);
}

Value gantry::viewOfRun(ImplicitLocOpBuilder &b, Value flat, Value offset, int64_t length) {
  auto type = MemRefType::get({length}, typeOf(flat).getElementType(),
                              StridedLayoutAttr::get(b.getContext(), ShapedType::kDynamic, {1}));
  return memref::ReinterpretCastOp::create(b, type, flat, OpFoldResult(offset),
                                           ArrayRef<OpFoldResult>{b.getIndexAttr(length)},
                                           ArrayRef<OpFoldResult>{b.getIndexAttr(1)});
}

Value Borders::pick(Value inside, Value offset) {
  Value image = viewOfRun(b, flatImage, offset, length);
  if (!inside)
    return image;
  Value none = viewOfRun(b, zeros, IndexBuilder{b}.constant(0), length);
  return arith::SelectOp::create(b, inside, image, none);
}
